package report

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
