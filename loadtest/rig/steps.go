package rig

import (
	"fmt"
	"io"
	"os"
	"time"
)

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
