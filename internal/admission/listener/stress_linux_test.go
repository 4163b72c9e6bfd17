package listener

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/admission"
)

// The handler replies with what only this client has sent, and says if its context has ended.
func echo(w http.ResponseWriter, r *http.Request) {
	if rand.IntN(4) == 0 {
		admission.FreePlace(r.Context())
	}
	time.Sleep(rand.N(3 * time.Millisecond))
	body, _ := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "%s %s %s %v", r.URL.Path, r.RemoteAddr, body, r.Context().Err())
}

// Clients pipeline, send in parts, reset and close half of their connections, beside a listener
// that parks most of them and refuses some.
func TestEachClientGetsItsOwnResponses(t *testing.T) {
	t.Parallel()
	const longest = 50 * time.Millisecond
	s := startWith(t, 4, admission.Limits{Burst: longest, Standing: longest}, func(s *site) {
		s.Handler = http.HandlerFunc(echo)
		s.cfg.RefusesUnread = func([]byte) bool { return rand.IntN(10) == 0 }
	})
	var clients sync.WaitGroup
	end := time.Now().Add(2 * time.Second)
	for range 60 {
		clients.Go(func() {
			for time.Now().Before(end) {
				s.play(t)
			}
		})
	}
	clients.Wait()
	s.await(t, "all closed", func(st Stats) bool { return st == Stats{Refused: st.Refused} })
	s.queue.poller.mu.Lock()
	defer s.queue.poller.mu.Unlock()
	if kept := len(s.queue.poller.conns) + s.countServed(); kept > 0 {
		t.Errorf("%d connections are kept", kept)
	}
}

// play opens a connection, and plays a client on it until it is closed.
func (s *site) play(t *testing.T) {
	c, err := net.Dial("tcp", s.queue.Addr().String())
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	responses := bufio.NewReader(c)
	for rand.IntN(20) > 0 {
		var text strings.Builder
		var want []string
		for range 1 + rand.IntN(2)*rand.IntN(5) {
			path := fmt.Sprintf("/%d", rand.Int64())
			body := strings.Repeat("b", rand.IntN(2)*rand.IntN(5000))
			fmt.Fprintf(&text, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
			want = append(want, fmt.Sprintf("%s %s %s <nil>", path, c.LocalAddr(), body))
		}
		sent := text.Len()
		if rand.IntN(10) == 0 {
			sent = rand.IntN(sent)
		}
		_, _ = io.WriteString(c, text.String()[:sent])
		switch rand.IntN(30) {
		case 0:
			_ = c.(*net.TCPConn).SetLinger(0)
			return
		case 1:
			_ = c.(*net.TCPConn).CloseWrite()
			return
		}
		time.Sleep(rand.N(20 * time.Millisecond))
		_, _ = io.WriteString(c, text.String()[sent:])
		if !receive(t, responses, want) {
			return
		}
	}
}

// receive reads responses, and reports whether the connection stays open. Any of them may be
// a refusal.
func receive(t *testing.T, responses *bufio.Reader, want []string) bool {
	for _, want := range want {
		resp, err := http.ReadResponse(responses, nil)
		if err != nil {
			return false
		}
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusServiceUnavailable && (err != nil || string(body) != want) {
			t.Errorf("status %d, %.200q, %v; want %.200q", resp.StatusCode, body, err, want)
		}
		if resp.Close {
			return false
		}
	}
	return true
}
