package race

import (
	"fmt"
	"net/http"
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

// Chinese readers are told of every defect in Chinese.
func TestEveryDefectHasAChineseName(t *testing.T) {
	t.Parallel()
	texts, err := page.Files.ReadFile("strings.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range generations.Defects() {
		for _, text := range []string{d.Defect, d.Fault} {
			if !strings.Contains(string(texts), `'`+text+`': '`) && !strings.Contains(string(texts), `"`+text+`": '`) {
				t.Errorf("%q has no Chinese name", text)
			}
		}
	}
}

func TestDefectThatDoesNotExistIsNotFound(t *testing.T) {
	t.Parallel()
	c := serveWithoutServers(t)
	for _, n := range []string{"-1", "1000", "x"} {
		resp, err := http.Post(c.url+"/defects/"+n, "application/json", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("/defects/%s: %s", n, resp.Status)
		}
	}
}
