package bench

// Segments compares a coupon whose stock is in one row with one whose stock is in
// segments.
func (t tables) Segments() string {
	var rows [][]string
	for _, c := range []struct{ label, one, split string }{
		{"a lock for the row, without the stock guard", "lock per coupon", "lock per segment"},
		{"the same, each claim holds its lock for 20 ms before it commits", "paused/lock per coupon", "paused/lock per segment"},
		{"`each`, as shipped: a lock for the user", "each/one row", "each/segments"},
		{"`grouped`, as shipped", "grouped/one row", "grouped/segments"},
	} {
		one, split := "segments/"+c.one, "segments/"+c.split
		rows = append(rows, []string{c.label, t.spread(one), t.spread(split), t.times(split, one)})
	}
	return table([]string{"", "claims/s, one row", "16 segments", "ratio"}, rows)
}
