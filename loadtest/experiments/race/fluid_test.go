package race

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/browser"
	"example.com/flashsale/loadtest/experiments/race/page"
)

// What the page draws of races that were never run.
func TestDrawings(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	t.Run("ten thousand claims stay fluid", func(t *testing.T) { tenThousandClaimsStayFluid(t, b) })
	t.Run("steps are drawn without slopes", func(t *testing.T) { stepsAreDrawnWithoutSlopes(t, b) })
}

// tenThousandClaimsStayFluid: a race of 10,000 claims a side must stay fluid while it is zoomed and
// moved. The work of a drawing is bounded, which does not depend on how busy the machine is: claims
// that share a row of pixels are one line.
func tenThousandClaimsStayFluid(t *testing.T, b *browser.Browser) {
	t.Helper()
	text, err := json.Marshal(largeRace())
	check.NoError(t, err)
	document, err := page.Whole()
	check.NoError(t, err)
	document = strings.Replace(document, ">null<", ">"+string(text)+"<", 1)
	file := filepath.Join(t.TempDir(), "race.html")
	check.NoError(t, os.WriteFile(file, []byte(document), 0o600))
	p := open(t, b, "file://"+file, desktop)
	p.Wait(`scene.sides[1].claims.length === 10000`)
	if lines := evaluate[float64](p, moveAround); lines > 4000 {
		t.Errorf("a drawing of both timelines takes %.0f rectangles, want 4000 at most", lines)
	}
	p.press("#zoom-reset")
	p.screenshot("large-1440-light-en")
}

// moveAround zooms and pans for 50 frames, and returns how many rectangles each takes.
const moveAround = `(async () => {
	const canvas = document.querySelector(".timeline canvas"), fill = CanvasRenderingContext2D.prototype.fillRect;
	let lines = 0;
	CanvasRenderingContext2D.prototype.fillRect = function (...box) { lines++; fill.apply(this, box); };
	for (let i = 0; i < 50; i++) {
		const key = i < 4 ? "+" : i % 40 === 39 ? "0" : i % 5 === 0 ? "+" : i % 2 ? "ArrowRight" : "ArrowLeft";
		canvas.dispatchEvent(new KeyboardEvent("keydown", {key}));
		await new Promise(requestAnimationFrame);
		await new Promise(r => setTimeout(r));
	}
	return lines / 50;
})()`

// largeRace returns a race of 10,000 claims of 2,000 users a side.
func largeRace() Race {
	random := rand.New(rand.NewPCG(1, 2))
	r := Race{Version: Version, ID: "1", State: Ended,
		Workload: Workload{Users: 2000, ClaimsPerUser: 5, PerUser: 1, Stock: 1000, Segments: 1},
		Sides:    make([]Side, 2)}
	for i := range r.Sides {
		r.Sides[i] = newSide(side([]string{"none", "redis"}[i], "user", "stock"))
		for n := range 10000 {
			sent := random.Int64N(5000)
			granted := sent + random.Int64N(200000)
			released := granted + 2000 + random.Int64N(30000)
			c := Claim{N: n, User: fmt.Sprint(n % 2000), Instance: string("ab"[n%2]), Sent: sent,
				Answered: released + 500, Status: 201}
			if n%10 > 0 {
				c.Status, c.Code = 409, []string{"sold_out", "already_claimed"}[n%2]
			}
			r.Sides[i].Claims = append(r.Sides[i].Claims, c)
			r.Sides[i].Sections = append(r.Sides[i].Sections,
				Section{Key: "redis_lock:userId:" + c.User, User: c.User, Instance: c.Instance, Wanted: sent,
					Granted: granted, Released: released})
		}
	}
	return r
}
