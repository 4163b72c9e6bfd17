package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
	p := &recorder{TB: t}
	look := browser.Look{Width: 800, Height: 600}
	axe.Require(browser.Start(t).Open(p, server.URL+"/", look), look)
	p.cleanup()
	for _, problem := range []string{"an error", "an exception", "request to another origin: http://127.0.0.1:9/",
		"Content Security Policy", "html-has-lang", "image-alt"} {
		if !strings.Contains(p.errors, problem) {
			t.Errorf("%q was not found in:\n%s", problem, p.errors)
		}
	}
}

// A recorder records what fails a test, and its cleanup.
type recorder struct {
	testing.TB
	errors  string
	cleanup func()
}

func (r *recorder) Error(args ...any)                 { r.errors += fmt.Sprintln(args...) }
func (r *recorder) Errorf(format string, args ...any) { r.errors += fmt.Sprintf(format+"\n", args...) }
func (r *recorder) Cleanup(f func())                  { r.cleanup = f }
