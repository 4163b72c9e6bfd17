package race

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"example.com/flashsale/internal/lab/browser"
	"example.com/flashsale/loadtest/verdict"
)

// The tests in this file press the page's buttons in a real browser and read
// what it draws. Its screenshots stay in out/race.

var desktop = browser.Look{Width: 1440, Height: 1000}

// A tab is the race's page in the browser.
type tab struct{ *browser.Page }

func open(t testing.TB, b *browser.Browser, url string, look browser.Look) *tab {
	t.Helper()
	return &tab{b.Open(t, url, look)}
}

func evaluate[T any](p *tab, expression string) T {
	p.Helper()
	return browser.Evaluate[T](p.Page, expression)
}

// texts returns those of all elements that match a selector.
func (p *tab) texts(selector string) []string {
	p.Helper()
	return evaluate[[]string](p, fmt.Sprintf("[...document.querySelectorAll(%q)].map(e => e.textContent)", selector))
}

// showLast shows the session's last race.
func (p *tab) showLast() {
	p.Helper()
	p.Wait(`document.querySelectorAll("#history-table button").length > 0`)
	evaluate[any](p, `document.querySelector("#history-table td:last-child button").click()`)
	p.Wait(judged)
	p.drawn()
}

// press clicks a button.
func (p *tab) press(selector string) {
	p.Helper()
	p.Do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// drawn waits until the pictures have been drawn again.
func (p *tab) drawn() {
	p.Helper()
	evaluate[any](p, `new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(null))))`)
}

func (p *tab) screenshot(name string) {
	p.Helper()
	p.drawn()
	p.Screenshot(filepath.Join("out", "race", name+".png"))
}

// A scene is what the page says that it has drawn.
type scene struct {
	Viewport struct{ From, To, End float64 }
	Sides    []struct {
		Claims []struct {
			N           int
			Lane        string
			Verdict     string
			From, To, Y float64
		}
		Sections []struct {
			Key                      string
			From, To, Left, Right, Y float64
		}
		Overlaps []drawnOverlap
	}
}

type drawnOverlap struct {
	Key         string
	From, To    float64
	Depth       int
	X, Y, Width float64
}

func (p *tab) scene() scene {
	p.Helper()
	p.drawn()
	return evaluate[scene](p, `({viewport: scene.viewport, sides: scene.sides})`)
}

const judged = `document.querySelectorAll(".light:not(.open)").length === 6 && !document.querySelector("#start").disabled`

// The first press of Start on the opening page must show what the database has:
// duplicates on the left, none on the right. A race ends within a second, so the page plays
// it again by itself: slowly, with the figures of the moment that it shows.
func TestFirstPressOfStartShowsTheRace(t *testing.T) {
	t.Parallel()
	c, b := start(t, stack(t)), browser.Start(t)
	moving := desktop
	moving.Motion = true
	p := open(t, b, c.url+"/", moving)
	p.Wait(`document.querySelector("#preset").options.length > 1`)
	p.screenshot("start-1440-light-en")
	p.press("#start")
	p.Wait(`scene.viewport.cursor > scene.viewport.end / 4 && (document.querySelector("#play").click(), true)`) // stops it
	var r Race
	c.get("/races/"+c.latest().ID, &r)
	checkOpening(t, r)
	checkFigures(p, r)
	p.screenshot("playing-1440-light-en")
	p.press("#play")
	p.Wait(`scene.viewport.cursor === null && ` + judged)
	checkIncident(p, r)
	checkLights(p, r)
	checkNumbers(p, r)
	checkClaims(p, r)
	checkOverlaps(p, r)
	checkZoom(p)
	checkStory(p, r)
	checkPlayback(p, r)
	checkSavedRace(p, b, r)
	checkReload(p, c.url)
	checkLooks(t, b, c.url)
	if *write {
		photograph(t, b, c.url, "light")
		photograph(t, b, c.url, "dark")
	}
}

// checkOpening looks for duplicates on the left, without a lock, and for none on the right.
func checkOpening(t *testing.T, r Race) {
	t.Helper()
	left, right := r.Sides[0], r.Sides[1]
	if left.Settings.Lock != "none" || right.Settings.Lock != "redis" || right.Settings.LockScope != "user" {
		t.Fatalf("the sides are %+v and %+v", left.Settings, right.Settings)
	}
	if left.Counts.Duplicates == 0 || left.Promises[1].Verdict != verdict.Broke || left.Counts.Overlaps == 0 {
		t.Errorf("left: %+v, %+v", left.Counts, left.Promises)
	}
	if right.Counts.Duplicates != 0 || right.Counts.Overlaps != 0 || right.Counts.Orders != r.Workload.Users {
		t.Errorf("right: %+v", right.Counts)
	}
	// there is stock for every claim
	for i, want := range []verdict.Verdict{verdict.Void, verdict.Held, verdict.Held} {
		if p := right.Promises[i]; p.Verdict != want || p.Number != 0 {
			t.Errorf("right: %+v, want %s", p, want)
		}
	}
}

// The picture of a limit shows the orders beyond it, and the count that let one through.
func TestOrdersBeyondALimitAreShown(t *testing.T) {
	t.Parallel()
	c, b := start(t, stack(t)), browser.Start(t)
	all := presets()
	request := all[slices.IndexFunc(all, limited)]
	r := c.race(request)
	for n := 1; n < attempts && showsNothing(r); n++ {
		r = c.race(request)
	}
	left, right := r.Sides[0], r.Sides[1]
	if left.Promises[1].Verdict != verdict.Broke || right.Promises[1].Verdict != verdict.Held {
		t.Errorf("left %+v, right %+v", left.Promises, right.Promises)
	}
	p := open(t, b, c.url+"/", desktop)
	p.showLast()
	checkClaims(p, r)
	p.screenshot("limit-1440-light-en")
	want := fmt.Sprintf("%d orders beyond 3 each, 20 of 20 users served", left.Counts.Duplicates)
	if got := p.texts(".side .big")[0]; got != want {
		t.Errorf("the headline is %q, want %q", got, want)
	}
	told := p.texts(".inside figcaption")[0]
	if !regexp.MustCompile(`counts \d+ orders .* commits .* inserts another`).MatchString(told) {
		t.Errorf("the sentence is %q", told)
	}
}
