package report

import "slices"

// A Column is one fact about each row of a table.
type Column[Row any] struct {
	name   string
	of     func(Row) any
	detail bool
}

// Main returns a column that every form of the table has.
func Main[Row, Value any](name string, of func(Row) Value) Column[Row] {
	return Column[Row]{name: name, of: func(r Row) any { return of(r) }}
}

// Detail returns a column that a terminal shows only if it is wide enough for all.
func Detail[Row, Value any](name string, of func(Row) Value) Column[Row] {
	return Column[Row]{name: name, of: func(r Row) any { return of(r) }, detail: true}
}

// Columns are a table without its rows.
type Columns[Row any] []Column[Row]

// Table returns the table of rows, with the notes on each.
func (c Columns[Row]) Table(rows []Row, notes ...func(Row) []string) (t Table) {
	for _, column := range c {
		t.Header = append(t.Header, column.name)
		t.details = append(t.details, column.detail)
	}
	for _, r := range rows {
		var cells []any
		for _, column := range c {
			cells = append(cells, column.of(r))
		}
		t.Add(cells...)
		for _, of := range notes {
			for _, note := range of(r) {
				t.Add(note)
			}
		}
	}
	return t
}

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
