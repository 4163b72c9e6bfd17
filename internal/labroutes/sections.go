package labroutes

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/transaction"
)

// Sections reports the critical sections of this instance's claims, for the
// experiments. A nil *Sections reports none. It is safe for concurrent use.
type Sections struct {
	pause time.Duration

	mu    sync.Mutex
	ended []section // that no response has reported
	open  int       // sections that have not ended
}

// maxEnded is how many sections are kept for the next request.
const maxEnded = 1 << 16

// A section is one of GET /debug/sections. Times are microseconds of this
// machine's wall clock, since 1970. Claim is what the claim's request has in its
// header X-Lab-Claim; only then are there steps.
type section struct {
	Claim    string `json:"claim,omitempty"`
	Key      string `json:"key"`
	User     string `json:"user"`
	Wanted   int64  `json:"wanted"`
	Granted  int64  `json:"granted"`
	Released int64  `json:"released"`
	Steps    []step `json:"steps,omitempty"`
}

// NewSections returns Sections whose claims pause between taking and releasing
// their lock.
func NewSections(pause time.Duration) *Sections { return &Sections{pause: pause} }

// Observer returns what order.Config takes as Enter.
func (s *Sections) Observer() func(context.Context, order.Section) (leave func()) {
	if s == nil {
		return nil
	}
	return s.enter
}

func (s *Sections) enter(ctx context.Context, entered order.Section) (leave func()) {
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	if s.pause > 0 {
		_ = transaction.Pause(ctx, s.pause)
	}
	return func() { s.add(ctx, entered, time.Now()) }
}

func (s *Sections) add(ctx context.Context, ended order.Section, released time.Time) {
	claim, steps := claimFrom(ctx).stepsSince(ended.Granted)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if len(s.ended) == maxEnded { // nobody reads them
		s.ended = nil
	}
	s.ended = append(s.ended, section{
		claim, ended.Key, strconv.FormatInt(ended.UserID, 10),
		ended.Wanted.UnixMicro(), ended.Granted.UnixMicro(), released.UnixMicro(), steps,
	})
}

// ServeHTTP replies with the sections that have ended since the request before; so there is one
// client. The member until says up to which time they are complete: a claim whose response
// was received before that time has been reported. The member open is how many
// sections have not ended.
func (s *Sections) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	report := map[string]any{"sections": s.ended, "until": time.Now().UnixMicro(), "open": s.open}
	s.ended = nil
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(report) // fails only if the client has disconnected
}
