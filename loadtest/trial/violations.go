package trial

import (
	"fmt"
	"os"
	"sync"
)

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
