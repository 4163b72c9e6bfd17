package driver_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/lock/driver"
)

// A stalledServer runs nothing until it resumes. Then it runs the requests that
// it had received before, but not always first.
type stalledServer struct {
	mu       sync.Mutex
	stalled  bool
	releases []time.Time
}

func (s *stalledServer) release(ctx context.Context) error {
	s.mu.Lock()
	stalled := s.stalled
	if !stalled {
		s.releases = append(s.releases, time.Now())
	}
	s.mu.Unlock()
	if !stalled {
		return nil
	}
	<-ctx.Done()
	return errNoReply
}

func (s *stalledServer) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = false
}

func (s *stalledServer) released() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.releases
}

func bubble(t *testing.T, test func(*testing.T)) {
	t.Parallel()
	synctest.Test(t, test)
}

// A packet that was repeated after 2^n seconds for the whole outage is repeated
// once more at the latest when the outage has lasted as long again. Most arrive as
// soon as the server resumes, and their keys wait for no more than as long again.
func TestReleaseIsRepeatedUntilTheRequestMustHaveArrived(t *testing.T) {
	t.Parallel()
	for _, outage := range []time.Duration{0, time.Second, 7 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var (
				server    = stalledServer{stalled: true}
				abandoned driver.Abandoned
				request   = time.Now()
			)
			time.Sleep(time.Millisecond) // the caller gives up
			if outage == 0 {
				server.heal()
			}
			abandoned.Release(t.Context(), request, server.release)
			time.Sleep(time.Until(request.Add(outage)))
			server.heal()
			synctest.Wait()
			time.Sleep(time.Hour)
			released := server.released()
			first, last := released[0].Sub(request), released[len(released)-1].Sub(request)
			if first > outage+time.Second || last < 2*first || last > 2*first+time.Second {
				t.Errorf("after an outage of %s: released after %s and %s", outage, first, last)
			}
			for i, at := range released[1:] {
				since, before := at.Sub(released[0]), released[i].Sub(released[0])
				if since > 2*before+time.Second || outage == 0 && i > 0 {
					t.Errorf("after an outage of %s: released %s after the first reply, and then %s", outage, before, since)
				}
			}
		}) // which also fails if a goroutine is left
	}
}

func TestReleaseIsSentAlthoughTheCallersContextHasEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var server stalledServer
		var abandoned driver.Abandoned
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		abandoned.Release(ctx, time.Now(), func(ctx context.Context) error {
			return errors.Join(ctx.Err(), server.release(ctx))
		})
		if n := len(server.released()); n != 1 {
			t.Errorf("%d releases when Release returned, want 1", n)
		}
		abandoned.Drain(t.Context())
	})
}

// One request of many is to a server that replies.
func TestSilentServerHoldsUpNoOtherRelease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		silent, server := stalledServer{stalled: true}, stalledServer{stalled: true}
		var abandoned driver.Abandoned
		var callers sync.WaitGroup
		start := time.Now()
		for range 100 {
			callers.Go(func() { abandoned.Release(t.Context(), start, silent.release) })
		}
		callers.Go(func() { abandoned.Release(t.Context(), start, server.release) })
		callers.Wait()
		server.heal()
		time.Sleep(30 * time.Second) // three rounds of seven times 16 releases, a second each
		if n := len(server.released()); n < 2 {
			t.Errorf("%d releases at the server that replies, want 2 or more", n)
		}
		silent.heal()
		abandoned.Drain(t.Context())
	})
}

func TestDrainSendsEachReleaseOnceMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var server stalledServer
		var abandoned driver.Abandoned
		start := time.Now().Add(-time.Hour)
		const requests = 50
		for range requests {
			abandoned.Release(t.Context(), start, server.release)
		}
		abandoned.Drain(t.Context())
		if n, took := len(server.released()), time.Since(start)-time.Hour; n != 2*requests || took > 0 {
			t.Errorf("%d releases after %s, want %d at once", n, took, 2*requests)
		}
	})
}

func TestDrainEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		server := stalledServer{stalled: true}
		var abandoned driver.Abandoned
		abandoned.Release(t.Context(), time.Now(), server.release)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		abandoned.Drain(ctx)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("Drain returned after %s, want 2s", took)
		}
		server.heal()
		time.Sleep(time.Minute)
		if n := len(server.released()); n < 2 {
			t.Errorf("%d releases after the outage, want 2 or more", n)
		}
	})
}

// The server never replies. The list and the time that it is tried are bounded.
func TestAbandonedRequestsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var abandoned driver.Abandoned
		refuse := func(context.Context) error { return errNoReply }
		for range 10_100 {
			abandoned.Release(t.Context(), time.Now(), refuse)
		}
		if n := abandoned.Len(); n > 10_000 || n < 9_900 { // some are being sent
			t.Errorf("%d requests are kept, want 10000", n)
		}
		time.Sleep(time.Hour)
		if n := abandoned.Len(); n != 0 {
			t.Errorf("%d requests are kept after an hour, want none", n)
		}
	})
}
