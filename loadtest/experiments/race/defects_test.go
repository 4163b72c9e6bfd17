package race

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/flashsale/loadtest/experiments/generations"
	"example.com/flashsale/loadtest/experiments/race/page"
)

// A defect is chosen on the page; the lock that has it breaks, the others hold, and
// the picture shows two holders at once.
func TestDefectIsShown(t *testing.T) {
	t.Parallel()
	c, b := start(t), startBrowser(t)
	all := generations.Defects()
	n := slices.IndexFunc(all,
		func(d generations.Defect) bool { return d.Fault == "the holder pauses past its lease, then writes" })
	p := open(t, b, fmt.Sprintf("%s/#defect=%d&lang=zh", c.url, n), desktop)
	p.wait(`document.querySelector("#defects select")?.options.length > 10`)
	p.press("#defects button")
	p.wait(`document.querySelectorAll("#defects .trial").length > 1`)
	got := evaluate[[]string](p, `[...document.querySelectorAll("#defects .trial")].map(e => e.classList[2])`)
	want := []string{"broke", "broke", "broke", "broke", "held"}
	if !slices.Equal(got, want) {
		t.Errorf("%+v: the verdicts are %v, want %v", all[n], got, want)
	}
	checkAccessible(p)
	p.screenshot("defect-1440-light-zh")
	evaluate[any](p,
		`(s => { s.value = 0; s.dispatchEvent(new Event("change")) })(document.querySelector("#defects select"))`)
	p.press("#defects button") // no fault strikes those that hold
	p.wait(`document.querySelectorAll("#defects .trial").length > 1`)
	p.wait(`!document.querySelector("#defects button").disabled`)
	if problem := evaluate[string](p, `document.querySelector("#defects .problem").textContent`); problem != "" {
		t.Errorf("%s: %s", all[0].Defect, problem)
	}
}

// Chinese readers are told of every defect, and of what became of it, in Chinese.
func TestDefectsAreToldInChinese(t *testing.T) {
	t.Parallel()
	texts := outcomes(t)
	for _, d := range generations.Defects() {
		texts = append(texts, d.Defect, d.Fault)
	}
	script, err := page.Files.ReadFile("defects_zh.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if !strings.Contains(string(script), `'`+text+`': '`) && !strings.Contains(string(script), `"`+text+`": '`) {
			t.Errorf("%q is not told in Chinese", text)
		}
	}
}

// outcomes returns the formats of the texts on trials.
func outcomes(tb testing.TB) (formats []string) {
	tb.Helper()
	files, err := filepath.Glob("loadtest/experiments/generations/*.go")
	if err != nil {
		tb.Fatal(err)
	}
	text := regexp.MustCompile(`\b(?:held|broke|timeline\.fault)\((?:fmt\.Sprintf\()?"([^"]+)"`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, match := range text.FindAllStringSubmatch(string(source), -1) {
			formats = append(formats, match[1])
		}
	}
	if len(formats) < 30 {
		tb.Errorf("only %d texts are found: %q", len(formats), formats)
	}
	return formats
}
