package race

import (
	"fmt"
	"regexp"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/flashsale/internal/check"
)

// checkFigures compares the figures of a playback that is being stopped with those of
// the moment at which it stops.
func checkFigures(p *tab, r Race) {
	p.Helper()
	const perSide = `["[data-number=sent]", "[data-verdict=accepted]", "[data-verdict=wrong]"].
		map(row => Number(document.querySelectorAll(row + " td")[%d]?.textContent ?? 0))`
	problem := "not looked at"
	for deadline := time.Now().Add(10 * time.Second); problem != "" && time.Now().Before(deadline); {
		problem = ""
		for i, side := range r.Sides {
			shown := evaluate[[]float64](p, `[scene.viewport.cursor, ...`+fmt.Sprintf(perSide, i)+`]`)
			sent, accepted := 0, 0
			for _, claim := range side.Claims {
				if float64(claim.Sent) <= shown[0] {
					sent++
				}
				if claim.Status == 201 && float64(claim.Answered) <= shown[0] {
					accepted++
				}
			}
			if int(shown[1]) != sent || int(shown[2]+shown[3]) != accepted {
				problem = fmt.Sprintf("side %d: moment and figures are %v, want %d sent and %d accepted", i, shown, sent, accepted)
			}
		}
	}
	if green := evaluate[int](p, `document.querySelectorAll(".light.held").length`); green > 0 || problem != "" {
		p.Errorf("%s; %d promises are judged before the end", problem, green)
	}
}

// checkIncident looks for the statements of two claims, and for the sentence about
// them.
func checkIncident(p *tab, r Race) {
	p.Helper()
	type statement struct {
		Claim int
		Kind  string
	}
	for i, want := range []string{"looks at .* finds no order. .* commits .* inserts another", "commits at|is refused"} {
		drawn := evaluate[[]statement](p, fmt.Sprintf(`scene.sides[%d].statements`, i))
		kinds := map[string]int{}
		for _, s := range drawn {
			kinds[s.Kind]++
			if claim := r.Sides[i].Claims[s.Claim]; s.Kind == "insert" && claim.Status != 201 {
				p.Errorf("side %d: claim %+v inserts an order", i, claim)
			}
		}
		if n := 2 - i; kinds["look"] < n || kinds["insert"] < n || kinds["commit"] < n {
			p.Errorf("side %d: the statements %v are drawn", i, kinds)
		}
		if sentence := p.texts(".inside figcaption")[i]; !regexp.MustCompile(want).MatchString(sentence) {
			p.Errorf("side %d: the sentence is %q", i, sentence)
		}
	}
}

// checkReload reloads the page, which keeps the race and the choice, and shows sides
// of it in other places.
func checkReload(p *tab, url string) {
	p.Helper()
	before, address := p.scene().Sides, evaluate[string](p, `location.href`)
	p.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	p.Wait(judged)
	check.Eventually(p, "the page shows the same race after a reload",
		func() bool { return sameJSON(before, p.scene().Sides) })
	p.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/"))
	p.Wait(`document.querySelectorAll("#history-table button").length > 0`)
	evaluate[any](p, `document.querySelector("#history-table .places button").click()`) // nothing is shown before
	p.Wait(judged)
	evaluate[any](p, `document.querySelectorAll("#history-table .places button")[1].click()`) // side A in place B, too
	p.Wait(`[...document.querySelectorAll(".side .name")].every(e => e.textContent === "no lock")`)
}
