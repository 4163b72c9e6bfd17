package clients

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// lowerPriority makes this process run only when no other wants its core. A thread
// that is created meanwhile inherits that.
func lowerPriority() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range threads {
		thread, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		// it has ended
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, thread, 19); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("priority of thread %d: %w", thread, err)
		}
	}
	return nil
}
