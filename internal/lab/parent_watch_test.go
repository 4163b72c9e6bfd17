package lab

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// startGroup starts sleep in a process group of its own.
func startGroup(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

func TestWatcherSignalsChildWhenPipeCloses(t *testing.T) {
	t.Parallel()
	child := startGroup(t)
	watcher := exec.Command("/bin/sh", "-c", watcherScript, "sh", "15", strconv.Itoa(child.Process.Pid))
	stdin, err := watcher.StdinPipe()
	check.NoError(t, err)
	check.NoError(t, watcher.Start())
	_ = stdin.Close() // as the kernel does when the parent is killed
	_ = watcher.Wait()
	_ = child.Wait()
	status := child.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signal() != syscall.SIGTERM {
		t.Errorf("child ended by %v, want SIGTERM", status.Signal())
	}
}

func TestStoppedWatchLeavesChildRunning(t *testing.T) {
	t.Parallel()
	child := startGroup(t)
	stopWatch, err := parentWatch(child.Process.Pid, syscall.SIGTERM)
	check.NoError(t, err)
	stopWatch() // returns after the shell has exited: a signal, if any, has been sent
	done := make(chan *os.ProcessState, 1)
	go func() {
		state, _ := child.Process.Wait()
		done <- state
	}()
	select {
	case state := <-done:
		t.Errorf("child ended: %v", state)
	case <-time.After(50 * time.Millisecond):
	}
}
