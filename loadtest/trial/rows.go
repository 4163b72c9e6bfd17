package trial

import (
	"context"
	"fmt"
	"os"
	"sync"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// A Row is one row of an experiment's table: a trial and what it has shown.
type Row interface {
	fmt.Stringer // names it
	// Run runs the trial. What an earlier run has shown is forgotten.
	Run(ctx context.Context) (verdict.Verdict, error)
}

// Run runs rows in turn, each again while it is void or lucky, and returns those that
// were run to their end.
func Run[R Row](ctx context.Context, rows ...R) (done []R, err error) {
	steps := rig.NewSteps(len(rows))
	for _, r := range rows {
		steps.Next("%s", r)
		if err := verdict.Repeat(func() (verdict.Verdict, error) { return r.Run(ctx) }); err != nil {
			return done, fmt.Errorf("%s: %w", r, err)
		}
		done = append(done, r)
	}
	return done, nil
}

// A Judged is the part of a row that says what it has shown.
type Judged struct {
	Violations []string        `json:"violations"`
	Verdict    verdict.Verdict `json:"verdict"`
}

// Judge sets the verdict by what a row violates; see verdict.Of.
func (j *Judged) Judge(control bool, violations []string, met bool) verdict.Verdict {
	j.Violations, j.Verdict = violations, verdict.Of(control, len(violations) > 0, met)
	return j.Verdict
}

func (j *Judged) judged() *Judged { return j }

// Section returns the section of rows. What a control violates is no problem.
func Section[R interface{ judged() *Judged }](
	title, text string, columns report.Columns[R], rows []R, notes ...func(R) []string,
) report.Section {
	s := report.Section{Title: title, Text: text, Table: columns.Table(rows, notes...)}
	for _, r := range rows {
		j := r.judged()
		if s.Judge(j.Verdict); !j.Verdict.Pass() {
			s.Problems = append(s.Problems, j.Violations...)
		}
	}
	return s
}

// Violations are the promises that were found broken. Only the first are kept: the
// others rarely add anything. They are safe for concurrent use.
type Violations struct {
	mu   sync.Mutex
	list []string
}

const maxViolations = 20

// Add adds a violation and prints it to standard error.
func (v *Violations) Add(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.list) < maxViolations {
		v.list = append(v.list, fmt.Sprintf(format, args...))
		fmt.Fprintln(os.Stderr, "NO:", v.list[len(v.list)-1])
	}
}

// All returns the violations. It is not nil.
func (v *Violations) All() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string{}, v.list...)
}
