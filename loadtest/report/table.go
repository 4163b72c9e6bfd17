package report

import (
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Table is a header and rows of as many cells. The first cell of a row names
// it. A line break in a cell begins another line of the cell. A row of a
// single cell is a note on the row above it.
type Table struct {
	Header []string
	Rows   [][]string
	Text   bool // the cells are words, not numbers
	Matrix bool // many columns of one verdict each, with upright headers

	details []bool // of each column: left out where there is no room
}

// Add adds a row of values.
func (t *Table) Add(values ...any) {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = fmt.Sprint(v)
	}
	t.Rows = append(t.Rows, cells)
}

// Markdown returns the table as Markdown. All columns but the first are aligned
// to the right.
func (t Table) Markdown() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "|%s|\n", strings.Join(cells, "|")) }
	line(t.Header)
	b.WriteString("|---|" + strings.Repeat("--:|", len(t.Header)-1) + "\n")
	for _, cells := range t.Rows {
		line(cells)
	}
	return b.String()
}

// Print prints the table to standard output, as wide as its terminal, or as 80
// columns if it is none.
func (t Table) Print() { t.Write(os.Stdout, terminalWidth()) }

const columnGap = 2

// Write writes the table as text of at most so many columns. Cells that do not fit are
// wrapped between words. If their longest words do not fit either, the details are left
// out, and then words are broken.
func (t Table) Write(w io.Writer, width int) {
	widths, words := t.widths()
	if total(words) > width {
		t = t.withoutDetails()
		widths, words = t.widths()
	}
	shrink(widths, words, width)
	shrink(widths, slices.Repeat([]int{1}, len(widths)), width)
	total := total(widths)
	t.writeRow(w, widths, t.Header)
	rule := strings.Repeat("-", total)
	fmt.Fprintln(w, rule)
	for i, cells := range t.Rows {
		switch {
		case len(cells) < len(widths):
			for _, line := range Wrap("    "+cells[0], total) {
				fmt.Fprintln(w, line)
			}
			continue
		case t.Text && i > 0:
			fmt.Fprintln(w, rule)
		}
		t.writeRow(w, widths, cells)
	}
}

// withoutDetails returns the table without the columns that are details.
func (t Table) withoutDetails() Table {
	main := func(cells []string) (kept []string) {
		for i, cell := range cells {
			if len(cells) < len(t.Header) || len(t.details) == 0 || !t.details[i] {
				kept = append(kept, cell)
			}
		}
		return kept
	}
	short := Table{Header: main(t.Header), Text: t.Text, Matrix: t.Matrix}
	for _, cells := range t.Rows {
		short.Rows = append(short.Rows, main(cells))
	}
	return short
}

func total(widths []int) (n int) {
	for _, width := range widths {
		n += width + columnGap
	}
	return n - columnGap
}

// widths returns the widths of the longest cell and of the longest word of each column.
func (t Table) widths() (cells, words []int) {
	cells, words = make([]int, len(t.Header)), make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		if len(row) < len(t.Header) {
			continue
		}
		for i, cell := range row {
			for line := range strings.SplitSeq(cell, "\n") {
				cells[i] = max(cells[i], utf8.RuneCountInString(line))
			}
			for word := range strings.FieldsSeq(cell) {
				words[i] = max(words[i], utf8.RuneCountInString(word))
			}
		}
	}
	return cells, words
}

// shrink makes the widest columns narrower, but none narrower than its least width, until
// all fit.
func shrink(widths, least []int, width int) {
	for n := total(widths); n > width; n-- {
		widest := -1
		for i := range widths {
			if widths[i] > least[i] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// writeRow writes the lines of one row. Numbers are aligned to the right.
func (t Table) writeRow(w io.Writer, widths []int, cells []string) {
	lines, height := make([][]string, len(cells)), 0
	for i, cell := range cells {
		lines[i] = Wrap(cell, widths[i])
		height = max(height, len(lines[i]))
	}
	for line := range height {
		var b strings.Builder
		for i, width := range widths {
			text := ""
			if i < len(lines) && line < len(lines[i]) {
				text = lines[i][line]
			}
			pad := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
			if i > 0 {
				b.WriteString(strings.Repeat(" ", columnGap))
			}
			if i == 0 || t.Text {
				b.WriteString(text + pad)
			} else {
				b.WriteString(pad + text)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// Wrap breaks text between words, and a word that is longer than a line within it. A
// continuation has the indent of its line.
func Wrap(text string, width int) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		current, words := indent, 0
		for word := range wordsOf(line, width-utf8.RuneCountInString(indent)) {
			if words > 0 && utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) > width {
				lines = append(lines, current)
				current, words = indent, 0
			}
			if words > 0 {
				current += " "
			}
			current, words = current+word, words+1
		}
		lines = append(lines, current)
	}
	return lines
}

// wordsOf returns the words of a line in parts of at most width.
func wordsOf(line string, width int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsSeq(line) {
			for part := range slices.Chunk([]rune(word), max(1, width)) {
				if !yield(string(part)) {
					return
				}
			}
		}
	}
}
