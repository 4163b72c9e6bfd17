package report

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"example.com/flashsale/loadtest/verdict"
)

// Say prints text to standard output, broken between words as Table.Print does.
func Say(format string, args ...any) {
	for _, line := range Wrap(fmt.Sprintf(format, args...), terminalWidth()) {
		fmt.Println(line)
	}
}

// defaultWidth is the width of what is no terminal.
const defaultWidth = 80

func terminalWidth() int {
	if size, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		return int(size.Col)
	}
	return defaultWidth
}

// painted is a terminal that has colours.
type painted struct{ io.Writer }

// coloured reports whether standard output is a terminal that has colours, and the
// user has not refused them (https://no-color.org).
func coloured() bool {
	_, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	return err == nil && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// colours are the terminal's for each verdict.
var colours = map[verdict.Verdict]string{
	verdict.Held: "32", verdict.Broke: "36", verdict.Lucky: "33", verdict.Void: "33", verdict.Wrong: "1;31",
}

// targets are the verdicts that have the colours of what is said of a target.
var targets = map[string]verdict.Verdict{
	"met": verdict.Held, "missed": verdict.Wrong, "undecided": verdict.Lucky,
}

// verdictOf returns the verdict that a cell says, on a row or on a target.
func verdictOf(cell string) (v verdict.Verdict, found bool) {
	if v, found = targets[cell]; found {
		return v, true
	}
	return verdict.Named(cell)
}

// paint returns text, a part of cell, in the colour of the verdict that cell says.
func paint(cell, text string) string {
	v, found := verdictOf(cell)
	if !found || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + colours[v] + "m" + text + "\x1b[0m"
}
