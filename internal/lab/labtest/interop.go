package labtest

import (
	"fmt"
	"os"
	"testing"
)

// Counters is the data that a lock protects while contenders of two languages hand it
// over. A holder reads it by one request and writes it by another, so that two holders at
// a time lose an update.
type Counters struct {
	Acquisitions, Handovers int
	Last                    string // the last contender, whose name begins with its language
	BetweenLanguages        int
}

// NoCounters is the text of the counters before the first acquisition.
const NoCounters = "0 0 none 0"

// ParseCounters reads what String has written.
func ParseCounters(text string) (c Counters, err error) {
	_, err = fmt.Sscan(text, &c.Acquisitions, &c.Handovers, &c.Last, &c.BetweenLanguages)
	return c, err
}

// String returns the text that the other language reads, too.
func (c Counters) String() string {
	return fmt.Sprintf("%d %d %s %d", c.Acquisitions, c.Handovers, c.Last, c.BetweenLanguages)
}

// Add counts an acquisition by a contender.
func (c Counters) Add(contender string) Counters {
	c.Acquisitions++
	if c.Last != contender {
		c.Handovers++
	}
	if c.Last[0] != contender[0] {
		c.BetweenLanguages++
	}
	c.Last = contender
	return c
}

// NeedInterop skips a test that runs another language's library, unless `make
// interop` runs it.
func NeedInterop(tb testing.TB) {
	tb.Helper()
	if os.Getenv("INTEROP") == "" {
		tb.Skip("the tests with Java's libraries run by `make interop`")
	}
}
