package race

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// await returns when a listener of a race is told that it has ended.
func (c *client) await(id string) {
	c.t.Helper()
	resp, err := http.Get(c.url + "/races/" + id + "/events")
	check.NoError(c.t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	check.NoError(c.t, errors.Join(err, resp.Body.Close()))
}

// A listener is sent the whole race, and one that comes back what it has missed.
func TestListenerIsSentWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	l := newLive(Race{Sides: make([]Side, 1)})
	l.begin(0, time.UnixMicro(100))
	l.enter(Running, "claims_0")
	l.addClaim(0, Claim{N: 0, Sent: 100, Answered: -1})
	l.addClaim(0, Claim{N: 1, Sent: 100, Answered: -1})
	l.addClaim(0, Claim{N: 1, Sent: 100, Answered: 107})
	l.addSample(0, Sample{T: 105, Orders: 1})
	l.addSection(0, Section{Claim: "1", Wanted: 100, Granted: 101, Released: 102})
	l.finish(0, Outcome{Coupon: "9"})
	l.end(nil)
	all := l.events
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
	}
	if !slices.Equal(names, strings.Fields("state claim claim claim sample section side end")) {
		t.Fatalf("the events are %v", names)
	}
	claim, sample := all[3].Data.(Claim), all[4].Data.(Sample)
	if claim.Answered != 7 || sample.T != 5 || sample.InFlight != 1 {
		t.Errorf("%+v, %+v", claim, sample)
	}
	for _, known := range []int{0, 3, len(all) - 1, len(all)} {
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		r.Header.Set("Last-Event-ID", fmt.Sprint(known))
		getEvents(w, r, l)
		data, want := "", ""
		if _, after, found := strings.Cut(w.Body.String(), "\ndata: "); found {
			data = strings.TrimSpace(after)
		}
		if known < len(all) {
			text, err := json.Marshal(all[known:])
			if want = string(text); err != nil {
				t.Fatal(err)
			}
		}
		if data != want {
			t.Errorf("after %d events: %q, want %q", known, data, want)
		}
	}
}
