package lab

import (
	"os/exec"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// What happens without stopWatch, TestKilledLabLeavesNothingBehind tests.
func TestStoppedWatchLeavesChildRunning(t *testing.T) {
	t.Parallel()
	child := exec.Command("sleep", "60")
	stopWatch, err := StartChild(child)
	check.NoError(t, err)
	stopWatch() // returns after the shell has exited: a signal, if any, has been sent
	select {
	case err := <-check.Begin(child.Wait):
		t.Errorf("the child has ended: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	_ = child.Process.Kill()
}
