package bench

import "fmt"

func (t tables) Growth() string {
	var rows [][]string
	for _, dimension := range []struct {
		figure, label string
		counts        []int
	}{
		{"orders", "orders in the table before", growthOrders},
		{"coupons", "coupons on sale at once", growthCoupons},
		{"connections", "connections", growthConns},
	} {
		for _, n := range dimension.counts {
			name := fmt.Sprintf("growth/%d %s", n, dimension.figure)
			rows = append(rows, []string{dimension.label, formatNumber(float64(n)), t.spread(name), t.value(name + " p99"), t.value(name + " memory")})
		}
	}
	return table([]string{"", "count", "claims/s", "p99", "memory"}, rows)
}

func (t tables) CPU() string {
	var rows [][]string
	for _, r := range []row{{"`each`", "profile/each"}, {"`grouped`", "profile/grouped"}} {
		rows = append(rows, []string{r.label, t.number(r.figure), t.number(r.figure + ", cores used by service"),
			t.number(r.figure + ", cores used by database"), t.number(r.figure + ", cores used by Redis")})
	}
	return table([]string{"", "claims/s", "service", "database", "Redis"}, rows)
}
