package race

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A burst is the claims of one side. Each user's claims are adjacent, so that
// they are sent at the same moment.
type burst struct {
	address string // of nginx
	coupon  string
	signer  rig.TokenSigner
	Workload
}

const (
	// maxConnections bounds the open connections, each of which costs nginx and
	// an instance a connection too. Of a larger burst the claims beyond that are
	// sent as the connections become free.
	maxConnections = 1000
	replyTimeout   = 90 * time.Second // nginx gives up before
)

// send opens all connections, calls begin with the moment of the barrier, and
// sends the claims. It records each when it is sent and when it is answered, and
// returns after the last.
func (b burst) send(ctx context.Context, begin func(barrier time.Time), record func(Claim)) error {
	connections, err := b.dial(ctx)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { closeAll(connections) })
	defer stop()
	defer closeAll(connections)
	var ready, sent sync.WaitGroup
	barrier := make(chan struct{})
	for i, conn := range connections {
		requests := b.requests(i, len(connections))
		ready.Add(1)
		sent.Go(func() {
			ready.Done()
			<-barrier
			for _, r := range requests {
				r.send(conn, record)
			}
		})
	}
	ready.Wait()
	begin(time.Now())
	close(barrier)
	sent.Wait()
	return ctx.Err()
}

func (b burst) dial(ctx context.Context) ([]net.Conn, error) {
	connections := make([]net.Conn, min(b.Claims(), maxConnections))
	for i := range connections {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", b.address)
		if err != nil {
			closeAll(connections[:i])
			return nil, err
		}
		connections[i] = conn
	}
	return connections, nil
}

func closeAll(connections []net.Conn) {
	for _, c := range connections {
		_ = c.Close()
	}
}

// A request is one claim, ready to be sent.
type request struct {
	n     int
	user  string
	bytes []byte
}

// requests returns the claims of connection i of n.
func (b burst) requests(i, n int) []request {
	var requests []request
	for claim := i; claim < b.Claims(); claim += n {
		user := claim/b.ClaimsPerUser + 1
		requests = append(requests, request{claim, fmt.Sprint(user), fmt.Appendf(nil,
			"POST /coupons/%s/orders HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\n\r\n",
			b.coupon, b.address, b.signer.User(int64(user)))})
	}
	return requests
}

// send sends the claim and reads the reply. Without a reply the claim's status is
// 0: whether it was placed is unknown.
func (r request) send(conn net.Conn, record func(Claim)) {
	c := Claim{N: r.n, User: r.user, Sent: time.Now().UnixMicro(), Answered: -1}
	record(c)
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	if _, err := conn.Write(r.bytes); err != nil || c.read(conn) != nil {
		c.Status, c.Code = 0, "no_reply"
	}
	c.Answered = time.Now().UnixMicro()
	record(c)
}

// read reads the reply to c.
func (c *Claim) read(conn net.Conn) error {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body := struct{ ID, Code string }{}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	c.Status, c.Code, c.Instance = resp.StatusCode, body.Code, resp.Header.Get("X-Instance")
	if resp.StatusCode == http.StatusCreated {
		c.Order = body.ID
	}
	return nil
}
