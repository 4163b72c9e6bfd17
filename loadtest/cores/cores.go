// Package cores gives servers a core of their own, and another one to what measures
// them: neither takes time from the other, as on two machines. It needs Linux.
package cores

import (
	"errors"
	"fmt"
)

// ErrTooFew says that the system has no two cores to choose from.
var ErrTooFew = errors.New("needs Linux and two cores")

// Two returns two cores that this process may use.
func Two() (servers, clients int, err error) {
	all, err := allowed()
	if err != nil || len(all) < 2 {
		return 0, 0, errors.Join(ErrTooFew, err)
	}
	return all[0], all[1], nil
}

// Confine keeps this process on one core until restore is called. The processes that it
// starts meanwhile stay there.
func Confine(core int) (restore func() error, err error) {
	before, err := allowed()
	if err == nil {
		err = use(core)
	}
	if err != nil {
		return nil, fmt.Errorf("run on core %d: %w", core, err)
	}
	return func() error { return use(before...) }, nil
}
