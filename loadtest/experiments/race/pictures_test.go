package race

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/browser"
)

var write = flag.Bool("write", false, "write docs/pictures")

var pictures = filepath.Join("docs", "pictures")

// checkPictures photographs the session's last race for the READMEs. The pictures have the same size,
// show both sides, and are in the colours of their schemes.
func checkPictures(t *testing.T, b *browser.Browser, url string) {
	t.Helper()
	light, dark := photograph(t, b, url, "light"), photograph(t, b, url, "dark")
	if light.Bounds() != dark.Bounds() || light.Bounds().Dx() < 1300 || light.Bounds().Dy() < 1000 {
		t.Errorf("the pictures are %v and %v", light.Bounds(), dark.Bounds())
	}
	brightness := func(m image.Image, x int) uint8 { return color.GrayModel.Convert(m.At(x, 10)).(color.Gray).Y }
	for _, x := range []int{light.Bounds().Dx() / 4, light.Bounds().Dx() * 3 / 4} { // the cards of the sides
		if l, d := brightness(light, x), brightness(dark, x); l < 0xf0 || d > 0x30 {
			t.Errorf("the pictures have brightness %d and %d at %d", l, d, x)
		}
	}
}

// photograph returns the picture for a scheme, and writes it if -write is set. A README is some 830 pixels wide.
func photograph(t *testing.T, b *browser.Browser, url, scheme string) image.Image {
	t.Helper()
	p := open(t, b, url+"/", browser.Look{Width: 1040, Height: 1200, Scale: 1.4, Dark: scheme == "dark"})
	p.showLast()
	clip := evaluate[page.Viewport](p, crop)
	shot, err := chromedp.Call(p.Tab, page.CaptureScreenshot,
		page.CaptureScreenshotParams{Clip: &clip, CaptureBeyondViewport: new(true)})
	check.NoError(t, err)
	if *write {
		check.NoError(t, os.WriteFile(filepath.Join(pictures, "race-"+scheme+".png"), shot.Data, 0o644))
	}
	m, err := png.Decode(bytes.NewReader(shot.Data))
	check.NoError(t, err)
	return m
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

// Each README shows the race in both schemes, and says what is on the picture. A reader downloads one of
// the two.
func TestReadmesShowTheRace(t *testing.T) {
	t.Parallel()
	shown := regexp.MustCompile(`<picture><source media="\(prefers-color-scheme: dark\)" srcset="docs/pictures/race-dark\.png">` +
		`<img src="docs/pictures/race-light\.png" alt="[^"]{40,}"></picture>`)
	for _, readme := range []string{"README.md", "README.zh-CN.md"} {
		if text, err := os.ReadFile(readme); err != nil || !shown.Match(text) {
			t.Errorf("%s does not show the race: %v", readme, err)
		}
	}
	size := int64(0)
	for _, scheme := range []string{"light", "dark"} {
		f, err := os.Stat(filepath.Join(pictures, "race-"+scheme+".png"))
		check.NoError(t, err)
		size += f.Size()
	}
	if size > 1_000_000 {
		t.Errorf("the pictures have %d bytes together", size)
	}
}
