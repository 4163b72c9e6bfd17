package report

import "slices"

// A Cell is one cell of a Matrix.
type Cell struct{ Row, Column, Text string }

// Matrix returns a table with the rows and columns of cells, in the order in which they come
// first. A cell that is missing is empty.
func Matrix(corner string, cells []Cell) Table {
	t := Table{Header: []string{corner}, Matrix: true}
	for _, c := range cells {
		if !slices.Contains(t.Header, c.Column) {
			t.Header = append(t.Header, c.Column)
		}
	}
	for _, c := range cells {
		row := slices.IndexFunc(t.Rows, func(cells []string) bool { return cells[0] == c.Row })
		if row < 0 {
			row, t.Rows = len(t.Rows), append(t.Rows, make([]string, len(t.Header)))
			t.Rows[row][0] = c.Row
		}
		t.Rows[row][slices.Index(t.Header, c.Column)] = c.Text
	}
	return t
}
