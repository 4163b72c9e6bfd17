package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// openLoad is an open model: claims arrive at a fixed rate, whether or not
// earlier ones have been replied to. A latency counts from the time at which
// the claim was due, so it includes the wait for a free connection or for this
// program. That rules out coordinated omission.
type openLoad struct {
	address string // host:port
	coupon  int64
	rate    float64 // per second
	conns   int
}

// An openResult holds the samples of one run.
type openResult struct {
	latencies  []time.Duration
	sendDelays []time.Duration // from due until sent
	accepted   int
	refused    int
}

// run claims for the given duration.
func (l openLoad) run(ctx context.Context, h rig.Headers, duration time.Duration) (openResult, error) {
	n := int(l.rate * duration.Seconds())
	headers, err := readHeaders(h, n)
	if err != nil {
		return openResult{}, err
	}
	arrivals := make(chan arrival, n) // large enough that schedule never blocks
	conns := make([]connection, l.conns)
	errs := make([]error, l.conns)
	var wg sync.WaitGroup
	for i := range conns {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", l.address)
		if err != nil {
			return openResult{}, err
		}
		defer conn.Close()
		conns[i].open(conn, "POST "+claimPath(l.coupon)+" HTTP/1.1\r\nHost: bench\r\n")
		wg.Go(func() { errs[i] = conns[i].serve(arrivals) })
	}
	l.schedule(arrivals, headers)
	close(arrivals)
	wg.Wait()
	return merge(conns), errors.Join(errs...)
}

// An arrival is one claim to be sent.
type arrival struct {
	due     time.Time
	headers []byte
}

// schedule sends each arrival when it is due.
func (l openLoad) schedule(arrivals chan<- arrival, headers [][]byte) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now().Add(10 * time.Millisecond)
	for i, h := range headers {
		due := start.Add(time.Duration(float64(i) / l.rate * float64(time.Second)))
		for wait := time.Until(due); wait > 0; wait = time.Until(due) {
			rig.SleepPrecisely(wait)
		}
		arrivals <- arrival{due, h}
	}
}

// readHeaders reads the first n users' headers.
func readHeaders(h rig.Headers, n int) ([][]byte, error) {
	f, err := os.Open(h.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if n > h.Count {
		return nil, fmt.Errorf("open load: %d claims, but only %d users", n, h.Count)
	}
	all := make([]byte, n*h.Width)
	if _, err := io.ReadFull(f, all); err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(all, h.Width)), nil
}

func merge(conns []connection) openResult {
	var sum openResult
	for i := range conns {
		r := &conns[i].openResult
		sum.latencies, sum.sendDelays = append(sum.latencies, r.latencies...), append(sum.sendDelays, r.sendDelays...)
		sum.accepted += r.accepted
		sum.refused += r.refused
	}
	return sum
}
