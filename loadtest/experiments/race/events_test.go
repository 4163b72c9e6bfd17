package race

import (
	"bufio"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// listen listens to a race until its end, and returns the names of the events.
func (c *client) listen(id string) (names []string) {
	c.t.Helper()
	resp, err := http.Get(c.url + "/races/" + id + "/events")
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			names = append(names, name)
		}
	}
	if err := lines.Err(); err != nil {
		c.t.Fatal(err)
	}
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
	if during[0] != "state" || during[len(during)-1] != "end" || counts["end"] != 1 || counts["side"] != 2 ||
		counts["batch"] < 6 {
		t.Errorf("while the race ran: %v", during)
	}
	want := []string{"state", "batch", "side", "batch", "side", "end"}
	if after := c.listen(r.ID); !slices.Equal(after, want) {
		t.Errorf("after its end: %v, want %v", after, want)
	}
}

// A listener is sent what happens, and one that comes late what was before.
func TestEveryListenerIsSentTheWholeRace(t *testing.T) {
	t.Parallel()
	l := newLive(Race{State: Running, Sides: make([]Side, 1)})
	l.begin(0, time.UnixMicro(100))
	var early, late listener
	state, empty := event{"state", Progress{State: Running}}, Batch{Replay: true}
	sections, samples := []Section{{Claim: "1"}}, []Sample{{T: 5, Orders: 1, InFlight: 1}}
	sent := []Claim{{N: 0, Answered: -1}, {N: 1, Answered: -1}}
	result := Result{Outcome: Outcome{Coupon: "9", Counts: &Counts{Orders: 1}}}
	tell := func(to *listener, want ...event) {
		t.Helper()
		events, last := l.tell(to)
		if diff := cmp.Diff(want, events, cmp.AllowUnexported(event{}), cmpopts.EquateEmpty()); diff != "" ||
			last != (l.race.State == Ended) {
			t.Error(last, diff)
		}
	}
	tell(&early, state, event{"batch", empty})
	for n := range sent {
		l.addClaim(0, Claim{N: n, Sent: 100, Answered: -1})
	}
	tell(&early, event{"batch", Batch{Claims: sent}})
	l.addClaim(0, Claim{N: 1, Sent: 100, Answered: 107})
	l.addSection(0, Section{Claim: "1", Wanted: 100, Granted: 100, Released: 100})
	l.addSample(0, Sample{T: 105, Orders: 1})
	l.finish(result)
	answered := Claim{N: 1, Answered: 7}
	tell(&early, event{"batch", Batch{Claims: []Claim{answered}, Sections: sections, Samples: samples}},
		event{"side", result})
	tell(&late, state, event{"batch", Batch{
		Replay: true, Claims: append(sent, answered), Sections: sections, Samples: samples,
	}}, event{"side", result})
	l.end(nil)
	tell(&early, event{"state", Progress{State: Ended}}, event{"end", Progress{State: Ended}})
}
