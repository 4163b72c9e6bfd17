package race

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// listen listens to a race until its end, and returns the names of the events.
func (c *client) listen(id string) (names []string) {
	c.t.Helper()
	resp, err := http.Get(c.url + "/races/" + id + "/events")
	check.NoError(c.t, err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var events []Event
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			check.NoError(c.t, json.Unmarshal([]byte(data), &events))
		}
		for _, e := range events {
			names = append(names, e.Name)
		}
	}
	check.NoError(c.t, lines.Err())
	return names
}

func TestEventsComeInTheirOrder(t *testing.T) {
	t.Parallel()
	c := start(t)
	request := c.opening()
	request.Workload.PauseMS = 100
	r, during := c.race(request)
	counts := map[string]int{}
	for _, name := range during {
		counts[name]++
	}
	claims := 2 * r.Workload.Claims() * len(r.Sides) // sent, and answered
	if during[0] != "state" || during[len(during)-1] != "end" || counts["end"] != 1 || counts["side"] != 2 ||
		counts["claim"] != claims || counts["section"] == 0 || counts["sample"] < 6 {
		t.Errorf("while the race ran: %v", counts)
	}
	if after := c.listen(r.ID); !slices.Equal(after, during) {
		t.Errorf("after its end: %d events, want %d", len(after), len(during))
	}
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
