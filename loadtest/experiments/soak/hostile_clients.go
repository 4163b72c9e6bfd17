package soak

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

const (
	greedyConnections = 1000 // of one user who claims without a pause
	slowConnections   = 200  // of each other kind
	downloads         = 45   // of large files, again and again, by clients that do not unpack
	slowness          = 500 * time.Millisecond
)

// attack occupies nginx and the instances with hostile clients until ctx ends:
// slow headers, slow bodies, slow readers, clients that never read, idle
// connections, downloads, and one user on many connections. wait waits for the last client.
func attack(ctx context.Context, m *market, c trial.Client, coupon int64) (wait func()) {
	address, greedy := c.Address, m.newUser()
	get := "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n"
	post := fmt.Sprintf("POST /coupons HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: 8000\r\n\r\n{", c.Signer.User(greedy))
	var clients sync.WaitGroup
	for range slowConnections {
		clients.Go(func() { keepConnected(ctx, address, get, writeSlowly("A: a\r\n")) })
		clients.Go(func() { keepConnected(ctx, address, post, writeSlowly(" ")) })
		clients.Go(func() { keepConnected(ctx, address, get+"\r\n", readSlowly) })
		clients.Go(func() { keepConnected(ctx, address, get+"\r\n", beIdle) })
		clients.Go(func() { keepConnected(ctx, address, "", beIdle) })
	}
	for range downloads {
		clients.Go(func() { keepConnected(ctx, address, "", download(get)) })
	}
	clients.Go(func() {
		c.History = new(trial.History)
		_, _ = c.Claims(ctx, generator.Phase{Clients: greedyConnections},
			func(int) rig.Claim { return rig.Claim{User: greedy, Coupon: coupon} }) // ends with ctx
	})
	return clients.Wait
}

// keepConnected connects, sends the beginning of a request and then uses the
// connection, again whenever nginx closes it, until ctx ends.
func keepConnected(ctx context.Context, address, begin string, use func(context.Context, net.Conn) error) {
	for ctx.Err() == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			rig.Sleep(ctx, slowness+rand.N(slowness))
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		if _, err = io.WriteString(conn, begin); err == nil {
			for err == nil && rig.Sleep(ctx, slowness+rand.N(slowness)) {
				err = use(ctx, conn)
			}
		}
		stop()
		_ = conn.Close()
	}
}

func writeSlowly(part string) func(context.Context, net.Conn) error {
	return func(_ context.Context, conn net.Conn) error {
		_, err := io.WriteString(conn, part)
		return err
	}
}

func readSlowly(_ context.Context, conn net.Conn) error {
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

// download sends a request and reads its response.
func download(get string) func(context.Context, net.Conn) error {
	return func(_ context.Context, conn net.Conn) error {
		_, err := io.WriteString(conn, get+"\r\n")
		if err != nil {
			return err
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return errors.Join(err, resp.Body.Close())
	}
}

func beIdle(context.Context, net.Conn) error { return nil }
