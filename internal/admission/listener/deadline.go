package listener

import (
	"errors"
	"os"
	"sync"
	"time"
)

// A deadline is that of a connection's reads or writes. net/http moves them seven times
// for each request, almost always to a later time. The connection's own deadline is
// only moved to an earlier one; when it is over, retry moves it to the one that is
// wanted by then.
type deadline struct {
	mu     sync.Mutex
	wanted time.Time // zero: none
	set    time.Time // the connection's; zero: it was never set
}

// want makes t the deadline, also of the operation that is running.
func (d *deadline) want(t time.Time, set func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	if t.IsZero() || !d.set.IsZero() && !t.Before(d.set) {
		return nil
	}
	d.set = t
	return set(t)
}

// retry reads or writes b with op until the deadline.
func (d *deadline) retry(op func([]byte) (int, error), set func(time.Time) error, b []byte) (int, error) {
	n, err := op(b)
	for errors.Is(err, os.ErrDeadlineExceeded) && d.postpone(set) {
		var more int
		more, err = op(b[n:])
		n += more
	}
	return n, err
}

// postpone sets the connection's deadline, which is over, to the wanted one. It is
// false if that is over, too.
func (d *deadline) postpone(set func(time.Time) error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.wanted.IsZero() && !d.wanted.After(time.Now()) {
		return false
	}
	d.set = d.wanted
	return set(d.wanted) == nil
}
