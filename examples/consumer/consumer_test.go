package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// The test's own binary is the consumer, too.
func TestMain(m *testing.M) {
	if os.Getenv("CONSUMER") != "" {
		main()
	}
	labtest.Main(m, lab.RedisServer)
}

const stream = "flashsale:events"

// A consumer is a process, and the last line that it has said.
type consumer struct {
	*exec.Cmd
	mu   sync.Mutex
	said string
}

func start(t *testing.T, program []string, args ...string) *consumer {
	t.Helper()
	c := &consumer{Cmd: exec.Command(program[0], append(program[1:], args...)...)}
	c.Env, c.Stderr = append(os.Environ(), "CONSUMER=1"), os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.mu.Lock()
			c.said = lines.Text()
			c.mu.Unlock()
		}
	}()
	return c
}

func (c *consumer) last() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said
}

// add adds events of orders, each with two, twice and in an order that may occur: a relay
// was killed, so that claimed comes again after used.
func add(t *testing.T, rdb redis.UniversalClient, from, to int) {
	t.Helper()
	_, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for id := from; id < to; id += 2 {
			for _, kind := range []string{"claimed", "used", "claimed", "used"} {
				body := fmt.Sprintf(`{"v":1,"kind":"%s","orders":[["%d","7","42",1],["%d","7","43",2]]}`, kind, id, id+1)
				p.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: []any{"body", body}})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Of events that come twice, a consumer that is killed and started again counts each once.
func TestEveryTransitionIsCountedOnce(t *testing.T) {
	t.Parallel()
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		path := countsEachOnce(t, []string{os.Args[0]})
		text, err := os.ReadFile(path)
		lines := map[string]bool{}
		for line := range strings.SplitSeq(string(text), "\n") {
			if lines[line] && line != "" {
				t.Fatalf("%q is there twice", line)
			}
			lines[line] = true
		}
		if err != nil || !lines["599 used ."] {
			t.Errorf("an order's use is missing: %v", err)
		}
	})
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		labtest.NeedInterop(t)
		countsEachOnce(t, []string{os.Getenv("PYTHON"), "consumer.py"})
	})
}

func countsEachOnce(t *testing.T, program []string) (path string) {
	t.Helper()
	server := labtest.Redis(t)
	rdb := labtest.Dial(t, server)
	path = filepath.Join(t.TempDir(), "counted")
	args := []string{server.URL, stream, "one", path}
	add(t, rdb, 0, 300)
	c := start(t, program, args...)
	check.Eventually(t, "it works on entries", func() bool {
		p, err := rdb.XPending(t.Context(), stream, "counter").Result()
		return err == nil && p.Count > 0 || c.last() == "600 transitions of 300 orders"
	})
	_ = c.Process.Kill()
	_ = c.Wait()
	add(t, rdb, 300, 600)
	c = start(t, program, args...)
	check.Eventually(t, "all is counted", func() bool { return c.last() == "1200 transitions of 600 orders" })
	check.Eventually(t, "all is acknowledged", func() bool {
		g := rdb.XInfoGroups(t.Context(), stream).Val()
		return len(g) == 1 && g[0].Pending == 0 && g[0].Lag == 0
	})
	return path
}
