package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Setup lists what the figures depend on.
func (t tables) Setup() string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"Commit", "`" + t.Commit + "`"},
		{"Date", t.Time.Format(time.DateOnly)},
		{"Duration of the run", fmt.Sprintf("%.0f s", t.Seconds)},
		{"CPU", fmt.Sprintf("%s, %d cores", t.Machine.CPU, t.Machine.Cores)},
		{"Memory", t.Machine.Mem},
		{"Versions", joinPairs(t.Versions)},
		{"Durability", joinPairs(t.Durability)},
	} {
		fmt.Fprintf(&b, "- %s: %s\n", line[0], line[1])
	}
	return b.String()
}

func joinPairs(m map[string]string) string {
	var pairs []string
	for k, v := range m {
		if v != "unknown" { // not installed, and not needed by bench
			pairs = append(pairs, k+" "+v)
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ", ")
}

// TargetTable lists the targets, the missed ones in bold.
func (t tables) TargetTable() string {
	var rows [][]string
	for _, target := range t.Targets {
		rows = append(rows, []string{target.Name, formatNumber(target.Value), target.limit(), target.verdict()})
	}
	return table([]string{"target", "measured", "limit", ""}, rows)
}

func (t tables) Claims() string {
	var rows [][]string
	for _, r := range []row{
		{"empty handler", "empty"},
		{"baseline", "by hand"},
		{"`each`: the articles' flow in the service", "each"},
		{"`pessimistic`", "pessimistic"},
		{"`optimistic`", "optimistic"},
		{"**`grouped`**", "grouped"},
	} {
		direct, nginx := "claims/direct/"+r.figure, "claims/nginx/"+r.figure
		rows = append(rows, []string{r.label, t.spread(direct), t.value(direct + " p99"), t.value(direct + " CPU"), t.spread(nginx), t.value(nginx + " p99")})
	}
	return table([]string{"", "claims/s, one instance", "p99", "CPU of the service", "claims/s, two instances behind nginx", "p99"}, rows)
}

func (t tables) Refusals() string {
	return t.rates("replies/s", []row{
		{"sold out", "losers/sold out"},
		{"the user has an order already", "losers/already claimed"},
	})
}

func (t tables) SoldOut() string {
	return t.rates("replies/s", []row{
		{"baseline: lock and transaction for each claim", "techniques/sold out, no gate, by hand"},
		{"`grouped`, coupon read from the database for each claim", "techniques/sold out, a look at the coupon"},
		{"`grouped`, coupon cached (the default)", "techniques/sold out, the coupon cached"},
	})
}

// rates is a table of rates with their p99.
func (t tables) rates(unit string, rows []row) string {
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, []string{r.label, t.spread(r.figure), t.value(r.figure + " p99")})
	}
	return table([]string{"", unit, "p99"}, cells)
}

func (t tables) OpenModel() string {
	var rows [][]string
	for _, r := range []row{
		{"empty handler", "open/quarter/empty"}, {"`grouped`", "open/quarter/grouped"},
		{"empty handler", "open/empty"}, {"`grouped`", "open/grouped"},
	} {
		rows = append(rows, []string{r.label, t.number(r.figure + " rate"), t.value(r.figure + " p50"),
			t.spread(r.figure + " p99"), t.value(r.figure + " p99.9"), t.value(r.figure + " sent late p99")})
	}
	return table([]string{"", "arrivals/s", "p50", "p99, ms", "p99.9", "sent late, p99"}, rows)
}

func (t tables) Techniques() string {
	const articles = "techniques/articles"
	var rows [][]string
	for _, r := range []row{
		{"the articles' flow", articles},
		{"+ arguments interpolated by the driver: one round trip for a statement instead of two", articles + " + " + interpolate},
		{"+ order inserted before the stock is decremented: the hot row is locked last", articles + " + " + insertFirst},
		{"+ order ids fetched from Redis in blocks", articles + " + " + idBlocks},
		{"+ Redis commands of concurrent claims sent together", articles + " + " + pipelining},
		{"+ all four", articles + " + all four"},
		{"`each`, in the service", "techniques/each"},
		{"`grouped`, in the service", "techniques/grouped"},
	} {
		rows = append(rows, []string{r.label, t.spread(r.figure), t.times(r.figure, articles), t.value(r.figure + " p99")})
	}
	return table([]string{"", "claims/s", "ratio to the articles' flow", "p99"}, rows)
}
