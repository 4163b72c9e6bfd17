package browser_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/browser"
	"example.com/flashsale/internal/lab/browser/axe"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.Chromium) }

const badPage = `<!doctype html><title>bad</title><img src="http://127.0.0.1:9/picture.png">
<script src="/script.js"></script><script>console.log("refused by the policy")</script>`

// A check that finds nothing on a bad page would find nothing anywhere.
func TestProblemsOfABadPageAreFound(t *testing.T) {
	t.Parallel()
	labtest.NeedServers(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/script.js" {
			_, _ = w.Write([]byte(`console.error("an error"); setTimeout(() => { throw new Error("an exception") })`))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "script-src 'self'")
		_, _ = w.Write([]byte(badPage))
	}))
	t.Cleanup(server.Close)
	b, err := browser.Start(t.Context())
	check.NoError(t, err)
	t.Cleanup(b.Stop)
	p, err := b.Open(server.URL+"/", browser.Look{Width: 800, Height: 600}, "")
	check.NoError(t, err)
	t.Cleanup(p.Close)
	violations, err := axe.Check(p)
	check.NoError(t, err)
	all := strings.Join(p.Problems(), "\n")
	for _, problem := range []string{"an error", "an exception", "request to another origin: http://127.0.0.1:9/",
		"Content Security Policy"} {
		if !strings.Contains(all, problem) {
			t.Errorf("%q was not found in:\n%s", problem, all)
		}
	}
	rules := map[string]bool{}
	for _, v := range violations {
		rules[v.ID] = true
	}
	if !rules["html-has-lang"] || !rules["image-alt"] {
		t.Errorf("axe found only %v", violations)
	}
}
