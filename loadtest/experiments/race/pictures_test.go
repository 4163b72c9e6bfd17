package race

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/browser"
)

var write = flag.Bool("write", false, "write docs/pictures")

// photograph writes the picture of the session's last race for a scheme. A README is some 830 pixels wide.
func photograph(t *testing.T, b *browser.Browser, url, scheme string) {
	t.Helper()
	p := open(t, b, url+"/", browser.Look{Width: 1040, Height: 1200, Scale: 1.4, Dark: scheme == "dark"})
	p.showLast()
	clip := evaluate[page.Viewport](p, crop)
	shot, err := chromedp.Call(p.Tab, page.CaptureScreenshot,
		page.CaptureScreenshotParams{Clip: &clip, CaptureBeyondViewport: new(true)})
	check.NoError(t, err)
	check.NoError(t, os.WriteFile(filepath.Join("docs", "pictures", "race-"+scheme+".png"), shot.Data, 0o644))
}

// crop leaves what a README has room for: of both sides the settings, the verdicts,
// the critical sections, what happened inside two of them, and the claims. It returns
// the clip.
const crop = `(async () => {
	for (const e of document.querySelectorAll(".pager, .story, .chart, .hint, #keys")) e.hidden = true;
	for (const e of document.querySelectorAll(".side")) e.style.paddingBottom = 0;
	for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
	const { left, top, right } = document.querySelector("#sides").getBoundingClientRect();
	const bottom = Math.max(...[...document.querySelectorAll(".timeline")].map(e => e.getBoundingClientRect().bottom));
	return { x: left + scrollX, y: top + scrollY, width: right - left, height: bottom - top + 8, scale: 1 };
})()`
