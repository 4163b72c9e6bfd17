package pictures

import (
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"example.com/flashsale/internal/lab/browser"
)

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

// capture returns a PNG file of the race that p shows.
func capture(p *browser.Page) ([]byte, error) {
	clip, err := browser.Evaluate[page.Viewport](p, crop)
	if err != nil {
		return nil, err
	}
	shot, err := chromedp.Call(p.Context, page.CaptureScreenshot,
		page.CaptureScreenshotParams{Clip: &clip, CaptureBeyondViewport: new(true)})
	if err != nil {
		return nil, err
	}
	return shot.Data, nil
}
