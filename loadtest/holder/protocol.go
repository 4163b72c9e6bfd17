// Package holder is the protocol between an experiment and the holders of a
// lock, which docs/locks.md specifies. A holder is a program in any
// language that takes one lock, writes while it believes that it holds it, and
// says what its lock has told it.
//
// Serve is the holder's side; package faults has the experiment's.
package holder

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Word begins what a holder says.
type Word string

// The words. Refused, Released and Lost are verdicts of the lock; Unknown is every
// other outcome.
const (
	Ready    Word = "ready"    // it takes commands
	Acquired Word = "acquired" // it holds the lock; with a fence, or 0
	Write    Word = "write"    // it believes that it holds the lock; with the fence
	Refused  Word = "refused"  // another held the lock until the wait was over
	Lost     Word = "lost"     // it has learnt that it no longer holds the lock
	Released Word = "released"
	Unknown  Word = "unknown" // no verdict; with the reason
)

// A Line is a word of a holder.
type Line struct {
	At    time.Duration // of the machine's monotonic clock
	Word  Word
	Fence uint64 // of Acquired and Write
	Text  string // of the others: the reason, or empty
}

// ParseLine parses a line without its end.
func ParseLine(text string) (l Line, err error) {
	fields := strings.SplitN(text, " ", 3)
	if len(fields) < 2 {
		return l, fmt.Errorf("%q: want a time and a word", text)
	}
	us, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return l, fmt.Errorf("%q: want the time in microseconds first", text)
	}
	l.At, l.Word = time.Duration(us)*time.Microsecond, Word(fields[1])
	rest := strings.Join(fields[2:], "")
	switch l.Word {
	case Acquired, Write:
		if l.Fence, err = strconv.ParseUint(rest, 10, 64); err != nil {
			return l, fmt.Errorf("%q: want a fence, or 0", text)
		}
	case Ready, Refused, Lost, Released, Unknown:
		l.Text = rest
	default:
		return l, fmt.Errorf("%q: no such word", text)
	}
	return l, nil
}

// String returns the line as a holder sends it.
func (l Line) String() string {
	rest := l.Text
	if l.Word == Acquired || l.Word == Write {
		rest = strconv.FormatUint(l.Fence, 10)
	}
	return strings.TrimRight(fmt.Sprintf("%d %s %s", l.At.Microseconds(), l.Word, rest), " ")
}
