package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// WriteJSON writes v to path, with the directories above it.
func WriteJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// WriteRows writes rows, with the environment, to out/name/name.json. It returns
// the environment.
func (s *Stack) WriteRows(ctx context.Context, name string, rows any, pass bool) (Environment, error) {
	e, err := s.Environment(ctx)
	if err != nil {
		return e, err
	}
	report := struct {
		Environment
		Rows any  `json:"rows"`
		Pass bool `json:"pass"`
	}{e, rows, pass}
	return e, WriteJSON(filepath.Join("out", name, name+".json"), report)
}

// Verdict is how tables and pages say what became of a row. A control has to break,
// every other row has to hold.
func Verdict(pass, control bool) string {
	switch {
	case !pass:
		return "NO"
	case control:
		return "broke, as it must"
	}
	return "held"
}

// Proven returns ErrNotProven unless pass.
func Proven(pass bool) error {
	if !pass {
		return ErrNotProven
	}
	return nil
}

// Milliseconds returns d as the reports give it, rounded to 10 µs.
func Milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}

// Progress returns a function that prints a line with the time since Progress
// was called to standard error.
func Progress() func(format string, args ...any) {
	begin := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
}
