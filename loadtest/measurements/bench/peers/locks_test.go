package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/lab"
)

// server is the Redis of all benchmarks.
var server *lab.Redis

// duration is how long a contest lasts, unless BENCH=quick makes it shorter.
var duration = 3 * time.Second

// TestMain starts the server if benchmarks are run.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("BENCH") == "quick" {
		duration = time.Second
	}
	l, err := lab.Open()
	if err == nil {
		server, err = lab.StartRedis(l)
	}
	code := 1
	if err == nil {
		code = m.Run()
		err = l.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Acquire and release without contention: each goroutine has a key of its own.
func BenchmarkPair(b *testing.B) {
	for _, w := range libraries {
		for _, goroutines := range []int{1, 128} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", w.name, goroutines),
				func(b *testing.B) { pairs(b, w.open(b), goroutines) })
		}
	}
}

func pairs(b *testing.B, acquire acquire, goroutines int) {
	b.Helper()
	pair := func(key string) {
		unlock, err := acquire(b.Context(), key)
		if err == nil {
			err = unlock()
		}
		if err != nil {
			b.Error(err)
		}
	}
	if goroutines == 1 {
		for b.Loop() {
			pair("alone")
		}
	} else {
		var keys atomic.Int64
		b.SetParallelism(goroutines / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			key := strconv.FormatInt(keys.Add(1), 10)
			for pb.Next() {
				pair(key)
			}
		})
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs")
}

// One lock that 16 waiters in each of 4 clients want, for a millisecond each.
func BenchmarkHandOver(b *testing.B) {
	for _, w := range libraries {
		b.Run(w.name, func(b *testing.B) {
			for b.Loop() {
				(&contest{way: w, clients: 4, waiters: 16, section: time.Millisecond}).run(b)
			}
		})
	}
}

// Spinning, polling with pauses, waiting for a notification and giving up, by the length of the critical
// section. A waiter pauses for as long as a section, so that it does not hand the lock to itself.
func BenchmarkWait(b *testing.B) {
	for _, section := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		for _, w := range waiters {
			b.Run(fmt.Sprintf("section=%dms/%s", section.Milliseconds(), w.name), func(b *testing.B) {
				for b.Loop() {
					pause := max(section, time.Millisecond)
					(&contest{way: w, clients: 8, waiters: 1, section: section, pause: pause}).run(b)
				}
			})
		}
	}
}
