package race

import (
	"bufio"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// heard is what a listener was sent of a race.
type heard struct {
	names []string // of events
	sides [4]Side
}

// listen listens to a race until its end.
func (c *client) listen(id string) (h heard) {
	c.t.Helper()
	resp, err := http.Get(c.url + "/races/" + id + "/events")
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	name := ""
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = n
			h.names = append(h.names, name)
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			h.apply(c.t, name, []byte(data))
		}
	}
	if err := lines.Err(); err != nil {
		c.t.Fatal(err)
	}
	return h
}

// apply does what a page does with an event.
func (h *heard) apply(t *testing.T, name string, data []byte) {
	t.Helper()
	switch name {
	case "batch":
		var b Batch
		decode(t, data, &b)
		s := &h.sides[b.Side]
		if b.Replay {
			*s = Side{}
		}
		for _, c := range b.Claims {
			if i := slices.IndexFunc(s.Claims, func(x Claim) bool { return x.N == c.N }); i >= 0 {
				s.Claims[i] = c
			} else {
				s.Claims = append(s.Claims, c)
			}
		}
		s.Sections, s.Samples = append(s.Sections, b.Sections...), append(s.Samples, b.Samples...)
	case "side":
		var r Result
		decode(t, data, &r)
		h.sides[r.Side].Counts, h.sides[r.Side].Coupon = r.Counts, r.Coupon
	}
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v: %.200s", err, data)
	}
}

// check compares what a listener was sent with the race.
func (h heard) check(t *testing.T, who string, r Race) {
	t.Helper()
	for i, s := range r.Sides {
		got := h.sides[i]
		slices.SortFunc(got.Claims, func(x, y Claim) int { return cmp.Compare(x.N, y.N) })
		if !slices.Equal(got.Claims, s.Claims) || !sameJSON(got.Sections, s.Sections) ||
			!slices.Equal(got.Samples, s.Samples) {
			t.Errorf("%s was sent %d claims, %d sections and %d samples of side %d, or others than %d, %d and %d", who,
				len(got.Claims), len(got.Sections), len(got.Samples), i, len(s.Claims), len(s.Sections),
				len(s.Samples))
		}
		if got.Counts == nil || got.Counts.Orders != s.Counts.Orders || got.Coupon != s.Coupon {
			t.Errorf("%s was sent the counts %+v of side %d", who, got.Counts, i)
		}
	}
	if h.names[0] != "state" || h.names[len(h.names)-1] != "end" {
		t.Errorf("the events of %s: %v", who, h.names)
	}
	var results []int
	for i, name := range h.names {
		if name == "side" {
			results = append(results, i)
		}
	}
	if len(results) != 2 || slices.Contains(h.names[:results[0]], "end") {
		t.Errorf("the events of %s: %v", who, h.names)
	}
}

// A listener that comes while the race runs, and one that comes after its end,
// are sent the same as is stored.
func TestEveryListenerIsSentTheWholeRace(t *testing.T) {
	t.Parallel()
	c := start(t)
	request := c.opening()
	request.Workload.PauseMS = 100
	r, during := c.race(request)
	during.check(t, "a listener during the race", r)
	c.listen(r.ID).check(t, "a listener after the race", r)
	if n := len(slices.DeleteFunc(slices.Clone(during.names),
		func(name string) bool { return name != "batch" })); n < 6 {
		t.Errorf("only %d batches were sent while the race ran", n)
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
