package race

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"example.com/flashsale/internal/lab/browser"
	"example.com/flashsale/internal/lab/browser/axe"
)

// checkSavedRace saves the race in both forms and opens them again: the JSON on
// the page, the HTML from disk. Both must show what was saved.
func checkSavedRace(p *tab, b *browser.Browser, r Race) {
	p.Helper()
	p.press("#save-json")
	file := p.downloaded("race.json")
	var saved Race
	if text, err := os.ReadFile(file); err != nil || json.Unmarshal(text, &saved) != nil || !sameJSON(saved, r) {
		p.Errorf("the saved race differs: %v", err)
	}
	before := p.scene().Sides
	p.Do(chromedp.Navigate(evaluate[string](p, `location.href`)),
		chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{file}))
	p.Wait(`document.querySelector("#phase").textContent.includes("race.json")`)
	if pressed := evaluate[int](p, `document.querySelectorAll("#history-table [aria-pressed=true]").length`); pressed > 0 {
		p.Errorf("a race from a file is taken for %d of the page's own", pressed)
	}
	if !sameJSON(before, p.scene().Sides) {
		p.Error("the page shows the loaded JSON in another way than the race")
	}
	p.press("#save-html")
	disk := open(p.TB, b, "file://"+p.downloaded("race.html"), desktop)
	disk.Wait(`document.querySelectorAll(".light:not(.open)").length === 6`)
	checkLights(disk, r)
	checkNumbers(disk, r)
	if !sameJSON(before, disk.scene().Sides) {
		p.Error("the saved HTML shows the race in another way than the page")
	}
	for i, side := range r.Sides {
		got := strings.Join(strings.Fields(disk.texts(".stock .u-legend")[i]), "")
		if !strings.Contains(got, fmt.Sprintf("orders%dexpected", side.Counts.Orders)) {
			p.Errorf("side %d: the chart ends with %q, want %d orders", i, got, side.Counts.Orders)
		}
	}
	disk.screenshot("saved-1440-light-en")
}

// downloaded waits for a file that the page has saved.
func (p *tab) downloaded(name string) string {
	p.Helper()
	file := filepath.Join(p.Downloads, name)
	for ctx := p.Tab; ctx.Err() == nil; p.drawn() {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 { // the browser reserves the name at first
			return file
		}
	}
	p.Fatalf("the page has not saved %s", name)
	return ""
}

func sameJSON(x, y any) bool {
	left, leftErr := json.Marshal(x)
	right, rightErr := json.Marshal(y)
	return leftErr == nil && rightErr == nil && bytes.Equal(left, right)
}

// checkLooks shows the race of the session in both languages, in light and dark,
// on a wide screen and on a telephone: each once. No look may break a rule of accessibility
// or scroll sideways.
func checkLooks(t *testing.T, b *browser.Browser, url string) {
	t.Helper()
	for _, look := range []browser.Look{
		{Width: 1440, Height: 1000, Language: "zh-CN"},
		{Width: 390, Height: 844, Language: "en-US", Dark: true},
	} {
		name := fmt.Sprintf("race-%d-%s", look.Width, look.Language[:2])
		t.Run(name, func(t *testing.T) { checkLook(t, b, url, look, name) })
	}
}

func checkLook(t *testing.T, b *browser.Browser, url string, look browser.Look, name string) {
	t.Helper()
	p := open(t, b, url+"/", look)
	p.Wait(`document.querySelectorAll("#history-table button").length > 0`)
	axe.Require(p.Page, look)
	p.showLast()
	if chinese := evaluate[bool](p,
		`document.documentElement.lang === "zh-CN" && document.querySelector("h1").textContent === "并发竞争现场"`); chinese != (look.Language == "zh-CN") {
		t.Errorf("a browser in %s gets the wrong language", look.Language)
	}
	evaluate[any](p, `document.querySelector("#unfold").click(), document.querySelector("details").open = true`)
	axe.Require(p.Page, look)
	p.screenshot(name)
}
