package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"example.com/flashsale/loadtest/stack"
)

// An arrivals is the open load: claims come at a fixed rate, whether or not
// earlier ones have been answered. A latency counts from the moment at which a
// claim was due, so that one which had to wait for a free connection, or for
// this program, has waited: coordinated omission is not possible.
type arrivals struct {
	address string // host:port
	coupon  int64
	rate    float64 // per second
	conns   int
}

// An outcome is what the clients of one open run have seen.
type outcome struct {
	latency  []time.Duration // of all claims, sorted
	late     []time.Duration // how long after its time each was sent, sorted
	accepted int
	refused  int
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// run claims for d.
func (a arrivals) run(ctx context.Context, h stack.Headers, d time.Duration) (outcome, error) {
	n := int(a.rate * d.Seconds())
	headers, err := readHeaders(h, n)
	if err != nil {
		return outcome{}, err
	}
	due := make(chan arrival, n) // never blocks the clock
	clients := make([]client, a.conns)
	errs := make([]error, a.conns)
	var wg sync.WaitGroup
	for i := range clients {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", a.address)
		if err != nil {
			return outcome{}, err
		}
		defer conn.Close()
		clients[i].open(conn, "POST "+claimPath(a.coupon)+" HTTP/1.1\r\nHost: bench\r\n")
		wg.Go(func() { errs[i] = clients[i].serve(due) })
	}
	a.tick(due, headers)
	close(due)
	wg.Wait()
	return total(clients), errors.Join(errs...)
}

type arrival struct {
	at      time.Time
	headers []byte
}

// tick sends each arrival at its time. It sleeps in the kernel, on a thread of
// its own: Go's timers are a millisecond coarse on an idle process.
func (a arrivals) tick(due chan<- arrival, headers [][]byte) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now().Add(10 * time.Millisecond)
	for i, h := range headers {
		at := start.Add(time.Duration(float64(i) / a.rate * float64(time.Second)))
		for wait := time.Until(at); wait > 0; wait = time.Until(at) {
			ts := syscall.NsecToTimespec(int64(wait))
			_ = syscall.Nanosleep(&ts, nil)
		}
		due <- arrival{at, h}
	}
}

// readHeaders reads the first n users' headers, or all in turn if n is more.
func readHeaders(h stack.Headers, n int) ([][]byte, error) {
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

// A client is one keep-alive connection with what it has measured.
type client struct {
	outcome
	conn net.Conn
	in   *bufio.Reader
	head string
	out  []byte
}

func (c *client) open(conn net.Conn, head string) {
	c.conn, c.in, c.head = conn, bufio.NewReaderSize(conn, 4096), head
}

func (c *client) serve(due <-chan arrival) error {
	for a := range due {
		c.late = append(c.late, time.Since(a.at))
		status, err := c.claim(a.headers)
		if err != nil {
			return err
		}
		c.latency = append(c.latency, time.Since(a.at))
		if status < 300 {
			c.accepted++
		} else {
			c.refused++
		}
	}
	return nil
}

func (c *client) claim(headers []byte) (status int, err error) {
	c.out = append(append(append(c.out[:0], c.head...), headers...), "Content-Length: 0\r\n\r\n"...)
	if err := c.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return 0, err
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return 0, err
	}
	return readAnswer(c.in)
}

var contentLength = []byte("Content-Length: ")

// readAnswer reads one answer of known length and returns its status.
func readAnswer(in *bufio.Reader) (status int, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("not HTTP: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, fmt.Errorf("not HTTP: %q", line)
	}
	length := -1
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if rest, ok := bytes.CutPrefix(line, contentLength); ok {
			if length, err = strconv.Atoi(string(rest)); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, errors.New("an answer without Content-Length")
	}
	_, err = in.Discard(length)
	return status, err
}

func total(clients []client) outcome {
	var sum outcome
	for i := range clients {
		c := &clients[i].outcome
		sum.latency, sum.late = append(sum.latency, c.latency...), append(sum.late, c.late...)
		sum.accepted += c.accepted
		sum.refused += c.refused
	}
	slices.Sort(sum.latency)
	slices.Sort(sum.late)
	return sum
}
