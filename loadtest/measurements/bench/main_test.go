package bench

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/loadtest/rig"
)

// slice is how long one measurement lasts, unless BENCH=quick makes it shorter. An iteration of
// a benchmark is a slice of each thing that it compares, so one is enough: -benchtime=1x.
var slice = 1500 * time.Millisecond

// stack has the servers of all benchmarks of this process.
var (
	stack   *rig.Stack
	headers rig.Headers // of all users
)

const users = 400_000

// TestMain starts the servers if benchmarks are run, and prints what they run on as the
// configuration of the benchmark format.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := os.Chdir(filepath.Join("..", "..", "..")); err != nil { // all paths are relative to the root
		panic(err)
	}
	if flag.Lookup("test.bench").Value.String() == "" {
		os.Exit(m.Run())
	}
	quick, err := rig.Quick("BENCH")
	if err != nil {
		panic(err)
	}
	if quick {
		slice = 500 * time.Millisecond
	}
	code := 1
	err = rig.With(func(s *rig.Stack) (err error) {
		stack = s
		dir, err := s.Dir("tokens")
		if err == nil {
			headers, err = writeHeaders(s.Signer(), filepath.Join(dir, "headers"), users)
		}
		if err == nil {
			err = printConfiguration(s, quick)
		}
		if err == nil {
			code = m.Run()
		}
		return err
	}, rig.LargeDatabase...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// writeHeaders writes the headers of the first n users to a file.
func writeHeaders(signer rig.TokenSigner, path string, n int) (rig.Headers, error) {
	h := rig.Headers{Path: path, Count: n}
	f, err := os.Create(path)
	if err != nil {
		return h, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	for i := range n {
		if h.Width, err = w.WriteString(signer.Headers(rig.UserID(i))); err != nil {
			return h, err
		}
	}
	return h, w.Flush()
}

func TestHeadersHaveOneWidth(t *testing.T) {
	t.Parallel()
	h, err := writeHeaders("secret", filepath.Join(t.TempDir(), "headers"), 100)
	check.NoError(t, err)
	text, err := os.ReadFile(h.Path)
	if err != nil || len(text) != 100*h.Width {
		t.Fatalf("%d bytes, %v; want 100 of %d", len(text), err, h.Width)
	}
	for i := range 100 {
		if one := string(text[i*h.Width : (i+1)*h.Width]); !strings.HasPrefix(one, "Authorization: Bearer ") ||
			!strings.HasSuffix(one, fmt.Sprintf("X-User: %d\r\n", rig.UserID(i))) {
			t.Fatalf("headers of user %d: %q", i, one)
		}
	}
}

func printConfiguration(s *rig.Stack, quick bool) error {
	e, err := s.Environment(context.Background())
	if err != nil {
		return err
	}
	fmt.Printf("commit: %s\ndate: %s\nquick: %t\nmachine: %s, %d cores, %s\n", e.Commit, e.Time.Format(time.DateOnly),
		quick, e.Machine.CPU, e.Machine.Cores, e.Machine.Mem)
	fmt.Printf("versions: %s\ndurability: %s\n", pairs(e.Versions), pairs(e.Durability))
	return nil
}

// pairs returns the names of a map with their values, in order.
func pairs(m map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, name+" "+m[name])
	}
	return strings.Join(all, ", ")
}
