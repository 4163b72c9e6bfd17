package generator

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

const testTimeout = 10 * time.Second

// onEveryPoller runs a test with epoll, where there is one, and with poll.
func onEveryPoller(t *testing.T,
	test func(t *testing.T, start func(address string, timeout time.Duration, received func(Reply)) *Generator)) {
	t.Helper()
	for name, open := range map[string]func() (poller, error){
		"of the system": newPoller, "poll": func() (poller, error) { return &pollList{}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(address string, timeout time.Duration, received func(Reply)) *Generator {
				request := func(b []byte,
					n int) []byte {
					return AppendClaim(b, "test", strconv.Itoa(n), 1, []byte("X-User: 1\r\n"))
				}
				g, err := New(address, timeout, request, received)
				check.NoError(t, err)
				g.poller.close()
				g.poller, err = open()
				check.NoError(t, err)
				return g
			})
		})
	}
}

// serve starts a server and returns its address, and how many connections it has
// had.
func serve(t *testing.T, handle http.HandlerFunc) (address string, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	s := httptest.NewUnstartedServer(handle)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), connections
}

func makeOrder(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Instance", "a")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"coupon_id":"1","id":"%s"}`, r.URL.Path)
}

func TestClosedModelSendsEachRequestOnceAfterTheReplyToThePrevious(t *testing.T) {
	t.Parallel()
	onEveryPoller(t, func(t *testing.T, start func(string, time.Duration, func(Reply)) *Generator) {
		var inFlight, most atomic.Int64
		address, connections := serve(t, func(w http.ResponseWriter, r *http.Request) {
			most.Store(max(most.Load(), inFlight.Add(1))) // roughly
			time.Sleep(time.Millisecond)
			inFlight.Add(-1)
			makeOrder(w, r)
		})
		const clients, count = 5, 50
		replies := map[int]Reply{}
		g := start(address, testTimeout, func(r Reply) { replies[r.Request] = r })
		defer g.Close()
		s := g.Run(t.Context(), Phase{Clients: clients, Count: count})
		g.Drain(t.Context())
		if s.Count != count || len(replies) != count || connections.Load() != clients || most.Load() > clients {
			t.Errorf("%d sent, %d replies, on %d connections, %d at once", s.Count, len(replies),
				connections.Load(), most.Load())
		}
		for n, r := range replies {
			if want := fmt.Sprintf("/coupons/%d/orders", n); r.Status != http.StatusCreated || r.Order != want ||
				r.Instance != "a" || r.Err != nil {
				t.Errorf("request %d: %+v, want order %s", n, r, want)
			}
		}
	})
}

func TestConnectedClientsSendBeforeAnyReplyIsRead(t *testing.T) {
	t.Parallel()
	onEveryPoller(t, func(t *testing.T, start func(string, time.Duration, func(Reply)) *Generator) {
		const clients = 100
		var all sync.WaitGroup
		all.Add(clients)
		address, connections := serve(t, func(w http.ResponseWriter, r *http.Request) {
			all.Done()
			all.Wait() // a reply comes only when all requests have come
			makeOrder(w, r)
		})
		var sent, received []time.Time
		g := start(address, testTimeout, func(r Reply) {
			sent, received = append(sent, r.Sent),
				append(received, r.Received)
		})
		defer g.Close()
		check.NoError(t, g.Connect(t.Context(), clients))
		s := g.Run(t.Context(), Phase{Clients: clients, Count: clients})
		g.Drain(t.Context())
		if s.Count != clients || len(received) != clients || connections.Load() != clients {
			t.Fatalf("%d sent, %d replies on %d connections", s.Count, len(received), connections.Load())
		}
		if last, first := slices.MaxFunc(sent, time.Time.Compare),
			slices.MinFunc(received, time.Time.Compare); first.Before(last) {
			t.Errorf("a reply came %s before the last request was sent", last.Sub(first))
		}
	})
}

func TestOpenModelOpensAnotherConnectionWhenNoneIsFree(t *testing.T) {
	t.Parallel()
	onEveryPoller(t, func(t *testing.T, start func(string, time.Duration, func(Reply)) *Generator) {
		const count = 40
		release := make(chan struct{})
		address, connections := serve(t, func(w http.ResponseWriter, r *http.Request) { <-release; makeOrder(w, r) })
		replies := 0
		g := start(address, testTimeout, func(r Reply) {
			if r.Err == nil && !r.Due.After(r.Sent) {
				replies++
			}
		})
		defer g.Close()
		s := g.Run(t.Context(), Phase{Rate: 1000, Count: count})
		for t.Context().Err() == nil && g.opening > 0 {
			g.poll(time.Millisecond)
		}
		close(release)
		g.Drain(t.Context())
		if replies != count || connections.Load() != count || s.Count != count {
			t.Errorf("%d replies on %d connections, want %d each", replies, connections.Load(), count)
		}
		g.Run(t.Context(), Phase{Rate: 1000, Count: count}) // the connections are free again
		g.Drain(t.Context())
		if replies != 2*count || connections.Load() != count {
			t.Errorf("%d replies on %d connections", replies, connections.Load())
		}
	})
}

func TestEveryRequestEndsWithAReplyOrAnError(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]http.HandlerFunc{
		"closed without a reply": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"closed within a reply": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("{"))
			panic(http.ErrAbortHandler)
		},
		"closed within a chunk": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("{"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"not HTTP": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = conn.Write([]byte("hello\r\n\r\n"))
				_ = conn.Close()
			}
		},
		"no reply": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEveryPoller(t, func(t *testing.T, start func(string, time.Duration, func(Reply)) *Generator) {
				address, _ := serve(t, handle)
				const count = 4
				ended := map[int]error{}
				g := start(address, time.Second, func(r Reply) { ended[r.Request] = r.Err })
				defer g.Close()
				g.Run(t.Context(), Phase{Clients: 2, Count: count})
				g.Drain(t.Context())
				if len(ended) != count {
					t.Fatalf("%d of %d requests have ended", len(ended), count)
				}
				for n, err := range ended {
					if err == nil {
						t.Errorf("request %d has a reply", n)
					}
				}
			})
		})
	}
}

func TestConnectionsKeepNoReply(t *testing.T) {
	t.Parallel()
	onEveryPoller(t, func(t *testing.T, start func(string, time.Duration, func(Reply)) *Generator) {
		address, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) })
		g := start(address, testTimeout, func(r Reply) { check.NoError(t, r.Err) })
		defer g.Close()
		check.NoError(t, g.Connect(t.Context(), 4))
		connections := slices.Collect(maps.Values(g.connections))
		g.Run(t.Context(), Phase{Clients: 4, Count: 4})
		g.Drain(t.Context())
		for _, c := range connections {
			if cap(c.partial) > 0 {
				t.Errorf("%d bytes of a reply are kept", cap(c.partial))
			}
		}
	})
}

func TestRequestsToAServerThatDoesNotListenEnd(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	check.NoError(t, err)
	l.Close()
	onEveryPoller(t, func(t *testing.T, start func(string, time.Duration, func(Reply)) *Generator) {
		failed := 0
		g := start(l.Addr().String(), testTimeout, func(r Reply) {
			if r.Err != nil {
				failed++
			}
		})
		defer g.Close()
		if err := g.Connect(t.Context(), 3); err == nil {
			t.Error("connected")
		}
		g.Run(t.Context(), Phase{Clients: 2, Count: 4})
		if g.Drain(t.Context()); failed != 4 {
			t.Errorf("%d of 4 have failed", failed)
		}
	})
}

func TestClosingEndsRequestsWithoutReply(t *testing.T) {
	t.Parallel()
	onEveryPoller(t, func(t *testing.T, start func(string, time.Duration, func(Reply)) *Generator) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var arrived atomic.Int32
		address, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			if arrived.Add(1) == 3 {
				cancel()
			}
			<-r.Context().Done()
		})
		var errs []error
		g := start(address, testTimeout, func(r Reply) { errs = append(errs, r.Err) })
		g.Run(ctx, Phase{Clients: 3})
		g.Drain(ctx)
		if g.Close(); len(errs) != 3 || slices.Contains(errs, nil) {
			t.Errorf("%v, want three errors", errs)
		}
	})
}
