package listener

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/admission"
)

// A peer is a connection to a server of its own.
type peer struct {
	net.Conn
	*bufio.Reader
}

func (p peer) Read(b []byte) (int, error) { return p.Reader.Read(b) }

// connect starts a server with the handler, and connects to it.
func connect(t *testing.T, server *http.Server, handler http.HandlerFunc) peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Handler = handler
	q, err := New(l, server, Config{Conns: 32, Limits: admission.Limits{Burst: time.Minute, Standing: time.Minute},
		Response: []byte(refusalText)})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(q) }()
	t.Cleanup(func() { _ = server.Close() })
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	return peer{conn, bufio.NewReader(conn)}
}

func (p peer) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		t.Fatal(err)
	}
}

// receive returns the body of a response with status 200.
func (p peer) receive(t *testing.T) string {
	t.Helper()
	resp, err := http.ReadResponse(p.Reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s, %v", resp.Status, err)
	}
	return string(body)
}

// wantClosed checks that the server closes the connection after d, and sends nothing.
func (p peer) wantClosed(t *testing.T, d time.Duration) {
	t.Helper()
	start := time.Now()
	n, err := p.Reader.Read(make([]byte, 1))
	if took := time.Since(start); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) || took < d*9/10 {
		t.Errorf("read %d bytes, %v after %s; want the end after %s", n, err, took, d)
	}
}

func TestRequestEndsWhenItsClientHangsUp(t *testing.T) {
	t.Parallel()
	for name, hangUp := range map[string]func(net.Conn) error{
		"closed":      net.Conn.Close,
		"half-closed": func(c net.Conn) error { return c.(*net.TCPConn).CloseWrite() },
		"reset": func(c net.Conn) error {
			return errors.Join(c.(*net.TCPConn).SetLinger(0), c.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, ended := make(chan struct{}), make(chan struct{})
			p := connect(t, new(http.Server), func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/first" {
					return
				}
				close(begun)
				<-r.Context().Done()
				close(ended)
			})
			p.send(t, "GET /first HTTP/1.1\r\nHost: x\r\n\r\n")
			p.receive(t)
			p.send(t, get)
			<-begun
			if err := hangUp(p.Conn); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Error("the request goes on after 10 s")
			}
		})
	}
}

func TestRequestGoesOnWhileItsClientWaits(t *testing.T) {
	t.Parallel()
	p := connect(t, &http.Server{ReadHeaderTimeout: watchInterval, ReadTimeout: 2 * watchInterval},
		func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
				_, _ = io.WriteString(w, "cancelled")
			case <-time.After(5 * watchInterval):
			}
		})
	for range 2 {
		p.send(t, get+get) // the second one waits for the first
		for range 2 {
			if got := p.receive(t); got != "" {
				t.Error(got)
			}
		}
	}
}

func TestBodyIsReadByteByByte(t *testing.T) {
	t.Parallel()
	p := connect(t, new(http.Server), func(w http.ResponseWriter, r *http.Request) {
		for b := make([]byte, 1); ; {
			n, err := r.Body.Read(b)
			_, _ = w.Write(b[:n])
			if err != nil {
				return
			}
		}
	})
	for range 2 {
		p.send(t, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na")
		p.send(t, "bc")
		if got := p.receive(t); got != "abc" {
			t.Errorf("received %q", got)
		}
	}
}

func TestBodyIsSentAfterContinue(t *testing.T) {
	t.Parallel()
	p := connect(t, new(http.Server), func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	p.send(t, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
	const want = "HTTP/1.1 100 Continue\r\n\r\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(p, got); err != nil || string(got) != want {
		t.Fatalf("%q, %v", got, err)
	}
	p.send(t, "abc")
	if got := p.receive(t); got != "abc" {
		t.Errorf("received %q", got)
	}
}

func TestHijackedConnectionIsPlain(t *testing.T) {
	t.Parallel()
	p := connect(t, new(http.Server), func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		b := []byte{'>'}
		_, _ = conn.Write(b)
		for range 2 {
			if _, err := io.ReadFull(conn, b); err != nil {
				t.Error(err)
			}
			_, _ = conn.Write(b)
		}
		time.AfterFunc(watchInterval, func() { _ = conn.SetReadDeadline(time.Now()) })
		if n, err := conn.Read(b); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after the deadline: %d, %v", n, err)
		}
	})
	p.send(t, get)
	if b, err := p.ReadByte(); b != '>' || err != nil {
		t.Fatalf("%q, %v", b, err)
	}
	p.send(t, "ab")
	if got, err := io.ReadAll(p); string(got) != "ab" || err != nil {
		t.Errorf("received %q, %v", got, err)
	}
}

func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	const limit = 300 * time.Millisecond
	echo := func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }
	for name, c := range map[string]struct {
		server *http.Server
		sends  string
	}{
		"idle":   {&http.Server{IdleTimeout: limit, ReadHeaderTimeout: time.Minute}, ""},
		"header": {&http.Server{IdleTimeout: time.Minute, ReadHeaderTimeout: limit}, "GET / HTTP/1.1\r\n"},
		"body": {&http.Server{IdleTimeout: time.Minute, ReadTimeout: limit},
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := connect(t, c.server, echo)
			for range 3 { // each moves the deadlines
				p.send(t, get)
				p.receive(t)
				time.Sleep(limit / 2)
			}
			if p.send(t, c.sends); name != "body" {
				p.wantClosed(t, limit/2)
				return
			}
			if rest, err := io.ReadAll(p); err != nil || strings.Contains(string(rest), "abc") {
				t.Errorf("received %q, %v; want the end", rest, err)
			}
		})
	}
}

// Otherwise a client that does not read would keep a goroutine and a connection.
func TestResponseIsNotWrittenForever(t *testing.T) {
	t.Parallel()
	const limit = 300 * time.Millisecond
	took := make(chan time.Duration)
	p := connect(t, &http.Server{WriteTimeout: limit}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			return
		}
		start := time.Now()
		for b := make([]byte, 1<<20); ; {
			if _, err := w.Write(b); err != nil {
				took <- time.Since(start)
				return
			}
		}
	})
	p.send(t, "GET /first HTTP/1.1\r\nHost: x\r\n\r\n")
	p.receive(t)
	time.Sleep(limit / 2)
	p.send(t, get)
	if d := <-took; d < limit*9/10 || d > 10*time.Second {
		t.Errorf("the write failed after %s, want %s", d, limit)
	}
}
