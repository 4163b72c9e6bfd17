package zklock_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/zklock"
)

// With this variable, which has the address of a server, the test binary is a
// process that holds a lock.
const holderVariable = "ZKLOCK_HOLDER"

// hold locks the key and writes a line each ten milliseconds as long as it
// believes that it holds the lock.
func hold(address, key string) {
	l, err := zklock.Open([]string{address}, 4*time.Second)
	if err != nil {
		panic(err)
	}
	held, err := lock.New(l).Acquire(context.Background(), key, lock.Options{TTL: 4 * time.Second})
	if err != nil {
		panic(err)
	}
	for held.Err() == nil {
		fmt.Println("held")
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("lost")
}

// startHolder starts a process that holds the lock of key, and returns its lines.
func startHolder(t *testing.T, address, key string) (process *os.Process, lines <-chan string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderVariable+"="+address+" "+key)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	check.NoError(t, err)
	check.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	written := make(chan string, 10_000) // more than the process writes in a test
	go func() {
		defer close(written)
		for s := bufio.NewScanner(out); s.Scan(); {
			written <- s.Text()
		}
	}()
	if line := <-written; line != "held" {
		t.Fatalf("the holder wrote %q", line)
	}
	return cmd.Process, written
}

// A holder that was stopped for longer than its session knows at once that it
// has lost its lock, and not only when it hears so from the server.
func TestStoppedHolderKnowsOfItsLossWhenItContinues(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	process, lines := startHolder(t, server.Address, key)
	check.NoError(t, process.Signal(syscall.SIGSTOP))
	next, err := open(t, server, time.Minute).Lock(t.Context(), key, ttl)
	check.NoError(t, err)
	for len(lines) > 0 {
		<-lines
	}
	check.NoError(t, process.Signal(syscall.SIGCONT))
	late := 0
	for line := range lines {
		if line == "held" {
			late++
		}
	}
	if late > 5 {
		t.Errorf("the holder wrote %d lines beside the next holder", late)
	}
	check.NoError(t, next.Release(t.Context()))
}

func TestMain(m *testing.M) {
	if address, key, found := strings.Cut(os.Getenv(holderVariable), " "); found {
		hold(address, key)
		return
	}
	labtest.Main(m, lab.ZooKeeperServer, lab.NetworkTools)
}
