package race

import (
	"bufio"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	_, next, stop := l.listen()
	defer stop()
	sections, samples := []Section{{Claim: "1"}}, []Sample{{T: 5, Orders: 1}}
	sent := Batch{Claims: []Claim{{N: 0, Answered: -1}, {N: 1, Answered: -1}}}
	answered := Batch{Claims: []Claim{{N: 1, Answered: 7}}, Sections: sections, Samples: samples}
	result := Result{Outcome: Outcome{Coupon: "9", Counts: &Counts{Orders: 1}}}
	l.add(sent)
	l.add(answered)
	l.finish(result)
	replay, _, stopLate := l.listen()
	defer stopLate()
	claims := []Claim{{N: 0, Answered: -1}, {N: 1, Answered: 7}}
	for _, c := range []struct{ got, want []event }{
		{[]event{<-next, <-next, <-next}, []event{{"batch", sent}, {"batch", answered}, {"side", result}}},
		{replay, []event{{"state", Progress{State: Running}},
			{"batch", Batch{Replay: true, Claims: claims, Sections: sections, Samples: samples}}, {"side", result}}},
	} {
		if diff := cmp.Diff(c.want, c.got, cmp.AllowUnexported(event{})); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSlowListenerIsCutOffAndOthersAreNot(t *testing.T) {
	t.Parallel()
	l := newLive(Race{State: Running, Sides: make([]Side, 1)})
	_, slow, stopSlow := l.listen()
	defer stopSlow()
	for i := range listenerBuffer + 10 {
		_, next, stop := l.listen()
		l.add(Batch{Samples: []Sample{{T: int64(i)}}})
		if e := <-next; e.name != "batch" {
			t.Fatalf("event %+v", e)
		}
		stop()
	}
	n := 0
	for range slow {
		n++
	}
	if n != listenerBuffer {
		t.Errorf("the slow listener was sent %d events, want %d and the end", n, listenerBuffer)
	}
}
