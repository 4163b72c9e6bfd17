package lab

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// group starts a sleeper in a process group of its own.
func group(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

func TestWatcherEndsChildWhenPipeBreaks(t *testing.T) {
	t.Parallel()
	child := group(t)
	watch := exec.Command("/bin/sh", "-c", watcher, "sh", "15", strconv.Itoa(child.Process.Pid))
	stdin, err := watch.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	_ = stdin.Close() // what the kernel does for a process that is killed
	_ = watch.Wait()
	_ = child.Wait()
	status := child.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signal() != syscall.SIGTERM {
		t.Errorf("child ended by %v, want SIGTERM", status.Signal())
	}
}

func TestUntieLeavesGroupAlone(t *testing.T) {
	t.Parallel()
	child := group(t)
	untie, err := tie(child.Process.Pid, syscall.SIGTERM)
	if err != nil {
		t.Fatal(err)
	}
	untie() // waits for the watcher: had it a signal to send, it has sent it
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
