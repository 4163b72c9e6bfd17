package labroutes

import (
	"context"
	"encoding/json"
	"errors"
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
	pause  time.Duration
	closed chan struct{}
	close  func()

	mu      sync.Mutex
	readers map[*sectionReader]bool
	open    int // sections that have not ended
}

// A sectionReader holds what one client has not been sent yet.
type sectionReader struct{ pending []section }

// A section is a line of GET /debug/sections. Times are microseconds of this
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
func NewSections(pause time.Duration) *Sections {
	s := &Sections{pause: pause, closed: make(chan struct{}), readers: map[*sectionReader]bool{}}
	s.close = sync.OnceFunc(func() { close(s.closed) })
	return s
}

// Observer returns what order.Config takes as Enter.
func (s *Sections) Observer() func(context.Context, order.Section) (leave func()) {
	if s == nil {
		return nil
	}
	return s.enter
}

// Close ends the responses of ServeHTTP.
func (s *Sections) Close() {
	if s != nil {
		s.close()
	}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if len(s.readers) == 0 {
		return
	}
	claim, steps := claimFrom(ctx).stepsSince(ended.Granted)
	for r := range s.readers {
		r.pending = append(r.pending, section{
			claim, ended.Key, strconv.FormatInt(ended.UserID, 10),
			ended.Wanted.UnixMicro(), ended.Granted.UnixMicro(), released.UnixMicro(), steps,
		})
	}
}

// sectionInterval is the time between two writes to a reader.
const sectionInterval = 50 * time.Millisecond

// ServeHTTP writes the sections that end from now on as lines of JSON, until the
// client disconnects or Close is called. After each batch a line with the member
// until says up to which time the sections are complete: a claim whose response
// was received before that time has been reported. Its member open is how many
// sections have not ended.
func (s *Sections) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reader := s.addReader()
	defer s.forget(reader)
	w.Header().Set("Content-Type", "application/x-ndjson")
	control := http.NewResponseController(w)
	// The server's deadlines are for requests that end.
	if errors.Join(control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Time{}),
		control.Flush()) != nil {
		return
	}
	ticker := time.NewTicker(sectionInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		case <-s.closed:
			return
		}
		if s.write(json.NewEncoder(w), reader) != nil || control.Flush() != nil {
			return
		}
	}
}

func (s *Sections) addReader() *sectionReader {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := new(sectionReader)
	s.readers[r] = true
	return r
}

func (s *Sections) forget(r *sectionReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.readers, r)
}

// write writes what is pending for r, and the time up to which that is all.
func (s *Sections) write(out *json.Encoder, r *sectionReader) error {
	s.mu.Lock()
	pending, until, open := r.pending, time.Now(), s.open
	r.pending = nil
	s.mu.Unlock()
	for _, line := range pending {
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return out.Encode(map[string]int64{"until": until.UnixMicro(), "open": int64(open)})
}
