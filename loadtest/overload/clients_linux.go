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
		before := c.opened
		late := c.offer(ctx, address, i, p, &results[i])
		results[i].LateP99, results[i].ConnectP99 = stats.Quantile(late, 0.99), stats.Quantile(c.connects, 0.99)
		results[i].Connected = c.opened - before
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
		due := begin
		for range maxRound {
			if p.Rate == 0 && len(c.idle) == 0 && c.busy >= p.Conns {
				break
			}
			if p.Rate > 0 {
				due = begin.Add(time.Duration(float64(r.Offered) / p.Rate * float64(time.Second)))
			}
			now := time.Now()
			if due.After(now) {
				break
			}
			if p.Rate > 0 {
				late = append(late, now.Sub(due))
			}
			r.Offered++
			if !c.send(address, arrival{phase, begin, c.user()}) {
				r.Unsent++
			}
		}
		c.poll(min(time.Millisecond, time.Until(due)))
	}
	return late
}

// poll serves the connections that are ready. It waits for up to a millisecond
// until one is, more precisely than epoll does.
func (c *clients) poll(wait time.Duration) {
	n, _ := syscall.EpollWait(c.epoll, c.events[:], 0) // an error is an interruption
	if n <= 0 && wait > 0 {
		rig.SleepPrecisely(min(wait, 50*time.Microsecond))
		return
	}
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
