package httpapi

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func (f *fixture) docsLoadNothingFromOtherHosts(t *testing.T) {
	for _, path := range []string{"/", "/docs"} {
		if r := f.do("GET", path, "", ""); r.Header().Get("Location") != "/docs/" {
			t.Errorf("%s: %v", path, r)
		}
	}
	page := f.do("GET", "/docs/", "", "")
	refs := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page.Body.String(), -1)
	script := f.do("GET", "/docs/init.js", "", "")
	if len(refs) < 3 || !strings.Contains(page.Body.String(), `src="/docs/init.js"`) ||
		!strings.Contains(script.Body.String(), `"/openapi.json"`) {
		t.Fatalf("not the documentation page: %v", page)
	}
	for _, ref := range refs {
		if r := f.do("GET", ref[1], "", ""); !strings.HasPrefix(ref[1], "/") || strings.HasPrefix(ref[1], "//") ||
			r.Code != 200 {
			t.Errorf("%s: %d", ref[1], r.Code)
		}
	}
	if csp := page.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'self';") ||
		strings.Contains(csp, "http") || !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("the page may load from other hosts, or be framed by them: %q", csp)
	}
	policy := page.Header().Get("Content-Security-Policy")
	scripts := regexp.MustCompile(`script-src[^;]*|default-src[^;]*`).FindAllString(policy, -1)
	if strings.Contains(strings.Join(scripts, ";"), "unsafe") ||
		regexp.MustCompile(`<script>|\bon\w+=`).MatchString(page.Body.String()) {
		t.Errorf("the page may execute injected scripts: %q", scripts)
	}
	for name, value := range map[string]string{"Range": "bytes=99999-", "If-Match": `"x"`} {
		req := request("GET", "/docs/init.js", "", "", "")
		req.Header.Set(name, value)
		wantStatus(t, f.send(req), 200)
	}
	if h := page.Header(); h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("headers of the page: %v", h)
	}
}

func TestDocsCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	cfg := f.cfg
	cfg.Docs, cfg.Metrics = false, prometheus.NewRegistry()
	f.API = New(cfg)
	for _, path := range []string{"/", "/docs", "/docs/", "/docs/swagger-ui-bundle.js", "/openapi.json"} {
		wantProblem(t, f.do("GET", path, "", ""), 404, "route_not_found")
	}
	wantStatus(t, f.do("GET", "/coupons", userToken(t, 42), ""), 200)
}
