package report

import (
	"fmt"
	"html/template"
)

// A Grid is a cell for each of Rows and Columns, coloured by its Shade.
type Grid struct {
	Caption       string
	Rows, Columns []string
	Cells         [][]GridCell // by row and column
}

// A GridCell is one cell.
type GridCell struct {
	Shade Shade
	Text  string // a few letters
	Title string // the same in words
	Link  string // the ID of the section that has more; may be empty
}

// A Shade says how bad a cell is.
type Shade string

// The shades.
const (
	Absent  Shade = "absent" // does not apply
	Fine    Shade = "fine"
	Notable Shade = "notable"
	Bad     Shade = "bad"
)

func (g Grid) caption() string { return g.Caption }

const (
	gridLabel   = 200.0
	gridHeading = 240.0
	gridRow     = 24.0
)

func (g Grid) svg() (template.HTML, Table) {
	c := &canvas{height: gridHeading}
	table := Table{Header: append([]string{""}, g.Columns...), Text: true}
	step := (width - gridLabel - 60) / float64(max(1, len(g.Columns)))
	for i, name := range g.Columns {
		c.add(`<text transform="translate(%.1f %g) rotate(-55)">%s</text>`, gridLabel+step*(float64(i)+0.5),
			gridHeading-8, escape(name))
	}
	for i, name := range g.Rows {
		c.add(`<text x="%g" y="%.1f" text-anchor="end">%s</text>`, gridLabel-8, c.height+16, escape(name))
		row := []string{name}
		for j, cell := range g.Cells[i] {
			title := fmt.Sprintf("%s, %s: %s", name, g.Columns[j], cell.Title)
			c.gridCell(cell, gridLabel+step*float64(j), step, title)
			row = append(row, cell.Title)
		}
		table.Rows = append(table.Rows, row)
		c.height += gridRow
	}
	return c.drawing(g.Caption), table
}

// gridCell draws a cell at x in the row at c.height.
func (c *canvas) gridCell(cell GridCell, x, step float64, title string) {
	element := "g"
	if cell.Link != "" {
		c.links, element = true, "a"
		title = cell.Text + ": " + title // a link's name begins with what is seen of it
	}
	c.add(`<%s%s>`, element, href(cell.Link))
	const rect = `<rect class="cell %s" x="%.1f" y="%.1f" width="%.1f" height="%g" rx="3"/>`
	c.add(`<title>%s</title>`+rect,
		escape(title), cell.Shade, x+1, c.height+1, step-2, gridRow-2)
	if cell.Text != "" {
		c.add(`<text class="cell" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x+step/2, c.height+16,
			escape(cell.Text))
	}
	c.add(`</%s>`, element)
}

func href(link string) string {
	if link == "" {
		return ""
	}
	return ` href="#` + escape(link) + `"`
}
