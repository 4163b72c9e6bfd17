package race

import (
	"slices"
	"testing"

	"example.com/flashsale/internal/lab/browser"
)

// stepsAreDrawnWithoutSlopes: the band of open critical sections changes in steps: an outline between two
// moments is never a slope, also where several steps share a column of pixels.
// A section that ends when another begins does not overlap it.
func stepsAreDrawnWithoutSlopes(t *testing.T, b *browser.Browser) {
	t.Helper()
	url := serve(t, &session{ctx: t.Context()})
	p := open(t, b, url+"/", desktop)
	overlaps := evaluate[[]drawnOverlap](p, `import("/page/race.js").then(({ overlapsOf }) => overlapsOf(
		[[0, 10], [10, 20], [30, 50], [35, 40], [36, 60], [70, 70], [80, 90], [85, 95]]).map(o => ({ From: o.from, To: o.to, Depth: o.depth })))`)
	want := []drawnOverlap{{From: 35, To: 50, Depth: 3}, {From: 85, To: 90, Depth: 2}}
	if !slices.Equal(overlaps, want) {
		t.Errorf("overlaps %v, want %v", overlaps, want)
	}
	kept := evaluate[string](p, `import("/page/files.js").then(({ pageWith, raceIn }) => raceIn(pageWith(
		'<script type="application/json" id="saved">null</script>', { version: 4, workload: {}, sides: [{}], error: "</script>" })).error)`)
	if kept != "</script>" { // a value ends no script
		t.Errorf("the saved page holds %q", kept)
	}
	type point struct{ X, Y float64 }
	outline := evaluate[[]point](p, `import("/page/steps_band.js").then(({ StepsBand }) => {
		const points = [], add = (X, Y) => points.push({ X, Y });
		const ctx = { beginPath() {}, fill() {}, moveTo: add, lineTo: add };
		const steps = [[0, 1], [10, 3], [10.2, 2], [10.4, 0], [50, 2], [50.5, 1], [90, 3], [90.3, 0]].map(([t, depth]) => ({ t, depth }));
		new StepsBand({ steps }).draw(ctx, { viewport: { from: 0, to: 100, end: 100 }, box: { top: 0, bottom: 30 }, x: t => t, theme: {} });
		return points;
	})`)
	for i, to := range outline[1:] {
		if from := outline[i]; from.X != to.X && from.Y != to.Y {
			t.Errorf("a slope from %v to %v in %v", from, to, outline)
		}
	}
}
