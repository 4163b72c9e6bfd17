package bench

import "fmt"

// HasOverload reports whether the section overload was run. The figures of older
// runs lack it.
func (t tables) HasOverload() bool { return t.figures.byName["overload/direct peak"] != nil }

// Overload is a table of the crowds.
func (t tables) Overload() string {
	var rows [][]string
	for _, site := range []row{{"one instance", "overload/direct"}, {"behind nginx", "overload/nginx"}} {
		for _, c := range crowds {
			name := site.figure + " " + c.String()
			label := fmt.Sprintf("%s, %g × the peak", site.label, c.rate)
			if c.shares {
				label += ", sharing the cores"
			}
			cells := []string{label}
			for _, figure := range []string{"due", "sent", "cores left", "made"} {
				cells = append(cells, t.number(name+" "+figure))
			}
			cells = append(cells, t.spread(name+" made of peak"))
			for _, figure := range []string{"made p50", "made max", "refused", "refused p99", "unanswered", "time to normal", "memory"} {
				cells = append(cells, t.number(name+" "+figure))
			}
			rows = append(rows, cells)
		}
	}
	return table([]string{"", "due/s", "sent/s", "cores left", "made/s", "made / peak", "p50, ms", "slowest, ms", "refused/s", "p99 of a refusal, ms",
		"without a reply", "to normal, ms", "MB"}, rows)
}
