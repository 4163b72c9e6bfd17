package report

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// Rows is the JSON file of an experiment that is rows.
type Rows struct {
	rig.Environment
	Rows any  `json:"rows"`
	Pass bool `json:"pass"`
}

// Conclude prints the tables of r, but no matrix, and what was found. Then it is Finish.
func Conclude(name string, result any, r Report) error {
	for _, s := range r.Sections {
		if len(s.Table.Rows) > 0 && !s.Table.Matrix {
			fmt.Println("\n" + s.Title + ":")
			s.Table.Print()
		}
		for _, problem := range s.Problems {
			Say("NO: %s", problem)
		}
	}
	return Finish(name, result, r)
}

// Finish writes out/name/name.json with result, or with Rows, and the page. It returns
// rig.ErrNotProven unless r passes.
func Finish(name string, result any, r Report) error {
	path := filepath.Join("out", name, name+".json")
	return errors.Join(rig.WriteJSON(path, result), Write(name, r), rig.Proven(r.Pass))
}

// ConcludeRows is Conclude with Rows that were run on s, which pass as those of all sections.
func ConcludeRows(ctx context.Context, s *rig.Stack, name string, rows any, r Report) (err error) {
	if r.Environment, err = s.Environment(ctx); err != nil {
		return err
	}
	r.Pass = Pass(r.Sections...)
	return Conclude(name, Rows{r.Environment, rows, r.Pass}, r)
}

// Judge adds the verdict on a row, and its problems, to its section.
func (s *Section) Judge(v verdict.Verdict, problems ...string) {
	s.Verdicts, s.Problems = append(s.Verdicts, v), append(s.Problems, problems...)
}

// Pass reports whether all rows of sections have come out as they must. Sections
// without a row do not count.
func Pass(sections ...Section) (pass bool) {
	for _, s := range sections {
		for _, v := range s.Verdicts {
			if pass = v.Pass(); !pass {
				return false
			}
		}
	}
	return pass
}

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
