package rig

import (
	"encoding/json"
	"fmt"
	"io"
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
	return WriteFile(path, append(b, '\n'))
}

// WriteFile writes b to path, with the directories above it.
func WriteFile(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
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

// Steps tells how far a job is that has a number of steps of similar length. It
// prints whole lines, so its output can be piped.
type Steps struct {
	out         io.Writer
	begin       time.Time
	total, done int
}

// NewSteps returns the Steps of a job with total steps that begins now. It
// prints to standard error.
func NewSteps(total int) *Steps { return &Steps{out: os.Stderr, begin: time.Now(), total: total} }

// Next prints the next step, and from the second step on how long those that
// are left will take.
func (s *Steps) Next(format string, args ...any) {
	took := time.Since(s.begin)
	s.done++
	left := ""
	if before := s.done - 1; before > 0 {
		rest := took / time.Duration(before) * time.Duration(s.total-before)
		left = fmt.Sprintf(" (about %s left)", rest.Round(time.Second))
	}
	fmt.Fprintf(s.out, "%6.1fs  %d/%d  %s%s\n", took.Seconds(), s.done, s.total, fmt.Sprintf(format, args...), left)
}
