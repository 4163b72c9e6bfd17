package overload

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// clients are the connections of one process. One thread serves them all, by
// epoll: with a goroutine for each, the process itself would be the first to be
// overloaded.
type clients struct {
	load     Load
	prefix   string // of each request
	headers  [][]byte
	next     int // of headers
	epoll    int
	events   [256]syscall.EpollEvent
	byFD     map[int]*client
	idle     []*client // the one that was used last is used next
	busy     int
	opened   int
	connects []time.Duration
	samples  []sample
	detail   string
}

// maxConns is how many connections a process opens. It may be limited to 20,000
// open files or fewer.
const maxConns = 18_000

// maxRound is how many claims are sent before replies are read again.
const maxRound = 32

func (l Load) run(ctx context.Context) ([]Result, error) {
	address, err := parseAddress(l.Address)
	if err != nil {
		return nil, err
	}
	c := &clients{load: l, byFD: map[int]*client{}, prefix: fmt.Sprintf("POST /coupons/%d/orders HTTP/1.1\r\nHost: %s\r\n", l.Coupon, l.Address)}
	if err := c.readHeaders(); err != nil {
		return nil, err
	}
	if c.epoll, err = syscall.EpollCreate1(0); err != nil {
		return nil, err
	}
	defer syscall.Close(c.epoll)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	results := make([]Result, len(l.Phases))
	for i, p := range l.Phases {
		c.connects = nil
		before, used := c.opened, cpuTime()
		late := c.offer(ctx, address, i, p, &results[i])
		results[i].LateP99, results[i].ConnectP99 = stats.Quantile(late, 0.99), stats.Quantile(c.connects, 0.99)
		results[i].Connected, results[i].CPU = c.opened-before, cpuTime()-used
	}
	for end := time.Now().Add(replyTimeout); c.busy > 0 && time.Now().Before(end) && ctx.Err() == nil; {
		c.poll(time.Millisecond)
	}
	c.close()
	for i, p := range l.Phases {
		results[i].Detail = c.detail
		results[i].summarize(slices.DeleteFunc(slices.Clone(c.samples), func(s sample) bool { return s.phase != i }), p.Duration)
	}
	return results, ctx.Err()
}

// cpuTime returns the CPU time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for another argument
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// readHeaders reads the headers of as many users as claims may be sent.
func (c *clients) readHeaders() error {
	n := 0.0
	for _, p := range c.load.Phases {
		rate := p.Rate
		if rate == 0 {
			rate = closedRate
		}
		n += math.Ceil(rate * p.Duration.Seconds())
	}
	h := c.load.Headers
	f, err := os.Open(h.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	all := make([]byte, min(int(n), h.Count-c.load.First)*h.Width)
	if _, err := io.ReadFull(io.NewSectionReader(f, int64(c.load.First*h.Width), int64(len(all))), all); err != nil {
		return err
	}
	c.headers = slices.Collect(slices.Chunk(all, h.Width))
	return nil
}

// closedRate is more than a closed model can send in a second.
const closedRate = 60_000

// user returns the headers of the next user. When all have claimed, it begins
// again.
func (c *clients) user() []byte {
	h := c.headers[c.next%len(c.headers)]
	c.next++
	return h
}

// offer sends the claims of a phase when they are due, and returns how late it
// was.
func (c *clients) offer(ctx context.Context, address address, phase int, p Phase, r *Result) (late []time.Duration) {
	begin := time.Now()
	end := begin.Add(p.Duration)
	r.Due = int(p.Rate * p.Duration.Seconds())
	for ctx.Err() == nil && time.Now().Before(end) {
		var wait time.Duration
		for range maxRound {
			if p.Rate == 0 && len(c.idle) == 0 && c.busy >= p.Conns {
				wait = time.Millisecond
				break
			}
			if p.Rate > 0 {
				due := begin.Add(time.Duration(float64(r.Offered) / p.Rate * float64(time.Second)))
				if wait = time.Until(due); wait > 0 {
					break
				}
				late = append(late, -wait)
			}
			r.Offered++
			if !c.send(address, arrival{phase, begin, c.user()}) {
				r.Unsent++
			}
		}
		c.poll(wait)
	}
	return late
}

// poll waits for up to a millisecond, and serves the connections that are ready. A
// shorter wait is not cut short by a reply: its time is known.
func (c *clients) poll(wait time.Duration) {
	timeout := 0
	if wait >= time.Millisecond {
		timeout = 1
	} else if wait > 0 {
		rig.SleepPrecisely(wait)
	}
	n, _ := syscall.EpollWait(c.epoll, c.events[:], timeout) // an error is an interruption
	for _, e := range c.events[:max(0, n)] {
		if conn := c.byFD[int(e.Fd)]; conn != nil {
			conn.ready()
		}
	}
}

// send sends a on the connection that was used last, or on a new one if none is
// free. It returns false if there are too many.
func (c *clients) send(address address, a arrival) bool {
	if n := len(c.idle); n > 0 {
		conn := c.idle[n-1]
		c.idle = c.idle[:n-1]
		conn.write(a)
		return true
	}
	if len(c.byFD) >= maxConns {
		return false
	}
	c.dial(address, a)
	return true
}

func (c *clients) close() {
	for _, conn := range c.byFD {
		if conn.busy {
			conn.end(unanswered, time.Now(), "no reply within "+replyTimeout.String())
		}
		conn.close()
	}
}
