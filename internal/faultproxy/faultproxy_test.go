package faultproxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
)

// listen accepts connections, which the test serves.
func listen(t *testing.T) (address string, accepted <-chan net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	conns := make(chan net.Conn, 1)
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			conns <- conn
		}
	}()
	return listener.Addr().String(), conns
}

// connect returns both ends of a connection through a new proxy.
func connect(t *testing.T) (client, server net.Conn, proxy *faultproxy.Proxy) {
	t.Helper()
	address, accepted := listen(t)
	proxy, err := faultproxy.New(address)
	check.NoError(t, err)
	t.Cleanup(func() { _ = proxy.Close() })
	client, err = net.Dial("tcp", proxy.Addr())
	check.NoError(t, err)
	server = <-accepted
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server, proxy
}

func send(t *testing.T, conn net.Conn, line string) {
	t.Helper()
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if got, err := bufio.NewReader(conn).ReadString('\n'); err != nil || got != want+"\n" {
		t.Fatalf("received %q, %v; want %q", got, err, want)
	}
}

func receiveNothing(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 10)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("received %d bytes, %v; want silence", n, err)
	}
}

func TestPartitionHidesEverythingUntilHeal(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		client, server, proxy := connect(t)
		if after {
			proxy.PartitionAfter("cut")
		} else {
			proxy.PartitionBefore("cut")
		}
		send(t, client, "hello")
		receive(t, server, "hello")
		send(t, client, "cut")
		if after {
			receive(t, server, "cut")
		}
		for !proxy.Partitioned() {
			time.Sleep(time.Millisecond)
		}
		send(t, client, "lost")
		send(t, server, "lost")
		receiveNothing(t, server)
		receiveNothing(t, client)
		_ = client.Close()
		receiveNothing(t, server)
		proxy.Heal()
		_ = server.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := server.Read(make([]byte, 10)); !errors.Is(err, io.EOF) {
			t.Errorf("after Heal: %v, want EOF", err)
		}
	}
}

func TestReplyReplacesTheServers(t *testing.T) {
	t.Parallel()
	client, server, proxy := connect(t)
	proxy.Reply("first", []byte("one\n"), []byte("two\n"))
	send(t, client, "first")
	receive(t, client, "one")
	receive(t, server, "first")
	send(t, server, "ignored")
	for range 2 {
		send(t, client, "later")
		receive(t, client, "two")
	}
	receiveNothing(t, server)
}

func TestRefuseRepliesOnce(t *testing.T) {
	t.Parallel()
	client, server, proxy := connect(t)
	proxy.Refuse("first", []byte("no\n"))
	send(t, client, "first")
	receive(t, client, "no")
	send(t, client, "second")
	receive(t, server, "second")
}

func TestHealDoesNotWaitForRequests(t *testing.T) {
	t.Parallel()
	client, server, proxy := connect(t)
	go func() { _, _ = io.Copy(io.Discard, server) }()
	go func() {
		for {
			if _, err := client.Write([]byte("request")); err != nil {
				return
			}
		}
	}()
	// The test's cleanup would wait as well, so a timer ends the process.
	late := time.AfterFunc(10*time.Second, func() { panic("Heal and a request wait for each other") })
	for begin := time.Now(); time.Since(begin) < time.Second; {
		proxy.Heal()
	}
	late.Stop()
}

func TestHeldRequestArrivesAfterItsClientHasGivenUp(t *testing.T) {
	t.Parallel()
	client, server, proxy := connect(t)
	held := proxy.Hold("late")
	defer held.Deliver()
	send(t, client, "first")
	receive(t, server, "first")
	if held.Caught() {
		t.Error("a request that does not match is held")
	}
	send(t, client, "late")
	receiveNothing(t, server)
	if !held.Caught() {
		t.Error("the request is not held")
	}
	_ = client.Close()
	held.Deliver()
	receive(t, server, "late")
}
