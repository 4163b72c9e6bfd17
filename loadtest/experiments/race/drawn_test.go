package race

import (
	gocmp "cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/loadtest/rig"
)

// checkLights compares the lights and the headlines with the race.
func checkLights(p *tab, r Race) {
	p.Helper()
	lights := evaluate[[]string](p, `[...document.querySelectorAll(".side [data-promise]")].map(e =>
		[e.dataset.promise, e.className, e.querySelector(".said").textContent].join(" "))`)
	headlines := p.texts(".side .big")
	for i, side := range r.Sides {
		for k, promise := range side.Promises {
			want := fmt.Sprintf("%s light %s ", promise.ID, promise.Verdict)
			if promise.Number > 0 {
				want = fmt.Sprintf("%s light broke broke, as it must: %d ", promise.ID, promise.Number)
			}
			if light := lights[len(side.Promises)*i+k]; !strings.HasPrefix(light, want) {
				p.Errorf("side %d: the light is %q, want %q", i, light, want)
			}
		}
		want := fmt.Sprintf("%d orders", side.Counts.Orders)
		if n := side.Counts.Duplicates; n > 0 {
			want = fmt.Sprintf("%d duplicate orders, %d of %d users served", n, side.Counts.DistinctUsers, r.Workload.Users)
		}
		if headlines[i] != want {
			p.Errorf("side %d: the headline is %q, want %q", i, headlines[i], want)
		}
	}
}

// checkNumbers compares the table with the rig's counts and the service's audit.
func checkNumbers(p *tab, r Race) {
	p.Helper()
	for i, side := range r.Sides {
		var audit struct {
			Orders int `json:"orders"`
			Users  int `json:"distinct_users"`
			Most   int `json:"most_per_user"`
			Stock  int `json:"stock"`
		}
		check.NoError(p, json.Unmarshal(side.Audit, &audit))
		for name, want := range map[string]int{
			"sent": len(side.Claims), "orders": side.Counts.Orders, "duplicates": side.Counts.Duplicates,
			"oversold": side.Counts.Oversold,
			"missing":  side.Counts.AckedMissing, "auditOrders": audit.Orders, "auditUsers": audit.Users,
			"auditMost": audit.Most, "auditStock": audit.Stock,
		} {
			if got := p.texts("[data-number=" + name + "] td"); got[i] != fmt.Sprint(want) {
				p.Errorf("side %d: the table has %s = %s, want %d", i, name, got[i], want)
			}
		}
	}
}

// checkClaims looks for the line of every claim, in the lane of its instance.
func checkClaims(p *tab, r Race) {
	p.Helper()
	s := p.scene()
	for i, side := range r.Sides {
		wrong := 0
		if len(s.Sides[i].Claims) != len(side.Claims) {
			p.Fatalf("side %d: %d claims are drawn, want %d", i, len(s.Sides[i].Claims), len(side.Claims))
		}
		for _, drawn := range s.Sides[i].Claims {
			claim := side.Claims[drawn.N]
			want := "refused"
			switch {
			case claim.Status == http.StatusCreated:
				want = "accepted"
			case claim.Code == "limit_reached":
				want = "other"
			case slices.Contains(rig.Refusals, claim.Code):
				want = claim.Code
			}
			if drawn.Verdict == "wrong" && want == "accepted" {
				want, wrong = "wrong", wrong+1
			}
			if int64(drawn.From) != claim.Sent || int64(drawn.To) != claim.Answered ||
				drawn.Lane != "Instance "+claim.Instance ||
				drawn.Verdict != want {
				p.Errorf("side %d: claim %+v is drawn as %+v", i, claim, drawn)
			}
		}
		if wrong != side.Counts.Duplicates {
			p.Errorf("side %d: %d orders are drawn as wrong, want %d", i, wrong, side.Counts.Duplicates)
		}
	}
}

// checkOverlaps looks for a red mark wherever two sections of a key are open at
// once, and only there, on all pages of keys.
func checkOverlaps(p *tab, r Race) {
	p.Helper()
	all := evaluate[[][]drawnOverlap](p, fmt.Sprintf(`Promise.all([fetch("/races/%s").then(r => r.json()), import("/page/race.js")]).then(
		([race, { overlapsOf }]) => race.sides.map(side => [...Map.groupBy(side.sections, s => s.key)].flatMap(([Key, own]) =>
			overlapsOf(own.map(s => [s.granted, s.released])).map(o => ({ Key, From: o.from, To: o.to, Depth: o.depth })))))`, r.ID))
	first := p.scene().Sides[0].Overlaps[0]
	red := evaluate[[]int](p,
		fmt.Sprintf(`[...document.querySelector(".timeline canvas").getContext("2d").getImageData(%f * devicePixelRatio, %f * devicePixelRatio, 1, 1).data]`, first.X+first.Width/2, first.Y))
	if red[0] < 180 || red[1] > 80 || red[2] > 80 {
		p.Errorf("the mark of an overlap is not red: %v", red)
	}
	for i, want := range all {
		press := func(button string) bool { // unless it cannot be pressed
			return evaluate[bool](p, fmt.Sprintf(`(b => b.offsetParent !== null && !b.disabled && (b.click(), true))(
				document.querySelectorAll(".side")[%d].querySelector(%q))`, i, button))
		}
		got := p.scene().Sides[i].Overlaps
		for press(".next") {
			got = append(got, p.scene().Sides[i].Overlaps...)
		}
		for press(".previous") {
		}
		if (len(want) > 0) != (i == 0) {
			p.Errorf("side %d has %d overlaps", i, len(want))
		}
		byMoment := cmpopts.SortSlices(func(x, y drawnOverlap) int {
			return gocmp.Or(strings.Compare(x.Key, y.Key), gocmp.Compare(x.From, y.From))
		})
		places := cmpopts.IgnoreFields(drawnOverlap{}, "X", "Y", "Width")
		if diff := cmp.Diff(want, got, byMoment, places, cmpopts.EquateEmpty()); diff != "" {
			p.Errorf("side %d: overlaps, -sections +drawn: %s", i, diff)
		}
	}
}

// checkZoom zooms with keys, with the wheel and by dragging.
func checkZoom(p *tab) {
	p.Helper()
	p.Do(chromedp.Focus(chromedp.CSS(".timeline canvas")))
	spans := []float64{p.scene().Viewport.To}
	for _, zoom := range []func(){
		func() { p.Do(chromedp.KeyEvent("+")) },
		func() { wheel(p, -300) },
		func() { drag(p, 0.25, 0.75) },
	} {
		zoom()
		v := p.scene().Viewport
		if span := v.To - v.From; span >= spans[len(spans)-1]*0.9 {
			p.Errorf("zooming shows %.0f µs after %.0f", span, spans[len(spans)-1])
		}
		spans = append(spans, v.To-v.From)
	}
	before := p.scene().Viewport
	p.Do(chromedp.KeyEvent(kb.ArrowRight))
	if after := p.scene().Viewport; after.From <= before.From {
		p.Errorf("the right arrow moves the viewport from %.0f to %.0f", before.From, after.From)
	}
	p.Do(chromedp.KeyEvent("0"))
	if v := p.scene().Viewport; v.From != 0 || v.To != v.End {
		p.Errorf("0 shows %+v", v)
	}
}

// middle returns the point of the first timeline that is the given part of its
// width from the left.
func middle(p *tab, part float64) (x, y float64) {
	p.Helper()
	box := evaluate[[]float64](p,
		`(b => [b.left, b.width, b.top])(document.querySelector(".timeline canvas").getBoundingClientRect())`)
	return box[0] + part*box[1], box[2] + 60
}

func wheel(p *tab, delta float64) {
	p.Helper()
	x, y := middle(p, 0.5)
	p.Do(chromedp.MouseEvent(chromedp.MouseWheel, x, y, func(e *input.DispatchMouseEventParams) {
		e.DeltaX, e.DeltaY = 1, delta // zero would be omitted
	}))
}

func drag(p *tab, from, to float64) {
	p.Helper()
	x, y := middle(p, from)
	end, _ := middle(p, to)
	p.Do(chromedp.DragAndDropXY(x, y, end, y))
}

// checkStory points at a critical section that overlaps others, and steps to a
// claim with the keyboard.
func checkStory(p *tab, r Race) {
	p.Helper()
	drawn := p.scene().Sides[1].Sections[0]
	canvas := `document.querySelectorAll(".sections canvas")[1]`
	box := evaluate[[]float64](p, canvas+`.scrollIntoView({block: "center"}), (b => [b.left, b.top])(`+canvas+
		`.getBoundingClientRect())`)
	p.Do(chromedp.MouseEvent(chromedp.MouseMoved, box[0]+(drawn.Left+drawn.Right)/2, box[1]+drawn.Y))
	p.drawn()
	if tip := evaluate[string](p, `document.querySelectorAll(".sections .tip")[1].textContent`); !strings.Contains(tip,
		"in the critical section, alone") {
		p.Errorf("the story of a section on the right is %q", tip)
	}
	p.Do(chromedp.Focus(chromedp.CSS(".claims canvas")), chromedp.KeyEvent(kb.ArrowDown))
	story := evaluate[string](p, `document.querySelector(".side .story").textContent`)
	i := slices.IndexFunc(r.Sides[0].Claims, func(c Claim) bool {
		return strings.HasPrefix(story, fmt.Sprintf("Claim %d of user %s, instance %s.", c.N, c.User, c.Instance))
	})
	if i < 0 || !strings.Contains(story, ending(r.Sides[0].Claims[i])) {
		p.Errorf("the story of the first claim is %q", story)
	}
}

// ending is what the story of a claim ends with: a refused one has no order.
func ending(c Claim) string {
	if c.Order != "" {
		return "Order " + c.Order
	}
	return fmt.Sprintf("HTTP %d %s", c.Status, c.Code)
}

// checkPlayback moves the moment that is shown, and plays the race on from it.
func checkPlayback(p *tab, r Race) {
	p.Helper()
	evaluate[any](p, `(s => { s.value = 100; s.dispatchEvent(new Event("input")) })(document.querySelector("#scrub"))`)
	now, drawn, inFlight := evaluate[float64](p, `scene.viewport.cursor`), 0, 0
	for _, c := range p.scene().Sides[0].Claims {
		if c.Verdict == "in_flight" {
			drawn++
		}
	}
	for _, c := range r.Sides[0].Claims {
		if float64(c.Sent) <= now && now < float64(c.Answered) {
			inFlight++
		}
	}
	if drawn != inFlight {
		p.Errorf("after %.0f µs %d claims are drawn in flight, want %d", now, drawn, inFlight)
	}
	p.press("#play")
	p.Wait(`document.querySelector("#scrub").value > 110`)
	p.press("#play")
	evaluate[any](p,
		`(s => { s.value = 1000; s.dispatchEvent(new Event("input")) })(document.querySelector("#scrub"))`)
}
