package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/browser"
)

// The API page must work in a real browser, in a dark scheme too: it takes a token and sends a trial
// request, without an error on the console, a request to another origin,
// or a refusal by its own policy.
func TestDocsWorkInABrowser(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newFixture(t))
	t.Cleanup(server.Close)
	b, err := browser.Start(t.Context())
	check.NoError(t, err)
	t.Cleanup(b.Stop)
	p, err := b.Open(server.URL+"/docs/", browser.Look{Width: 1280, Height: 1000, Dark: true}, "")
	check.NoError(t, err)
	t.Cleanup(p.Close)
	tryOut := []chromedp.Action[chromedp.Void]{
		chromedp.Click(chromedp.CSS(`.btn.authorize`), chromedp.NodeVisible),
		chromedp.SendKeys(chromedp.CSS(`.auth-container input`), userToken(t, 42), chromedp.NodeVisible),
		chromedp.Click(chromedp.CSS(`.auth-btn-wrapper .authorize`), chromedp.NodeVisible),
		chromedp.Click(chromedp.CSS(`.close-modal`), chromedp.NodeVisible),
		chromedp.Click(chromedp.CSS(`#operations-user-list-coupons button`), chromedp.NodeVisible),
		chromedp.Click(chromedp.CSS(`.try-out__btn`), chromedp.NodeVisible),
		chromedp.Click(chromedp.CSS(`.btn.execute`), chromedp.NodeVisible),
	}
	check.NoError(t, chromedp.Do(p.Context, tryOut...))
	status, err := chromedp.Run(p.Context,
		chromedp.Poll[string](`document.querySelector(".live-responses-table tbody .response-col_status")?.innerText`,
			chromedp.WithPollingTimeout(time.Minute)))
	if err != nil || !strings.HasPrefix(status, "200") {
		t.Errorf("trying GET /coupons shows %q: %v", status, err)
	}
	const first = `document.querySelector(".opblock-summary-description").innerText`
	if summary, err := browser.Evaluate[string](p, first); err != nil || summary != "Claim a coupon" {
		t.Errorf("the first operation is %q: %v", summary, err)
	}
	for _, problem := range p.Problems() {
		t.Error(problem)
	}
	const background = `getComputedStyle(document.documentElement).backgroundColor`
	if colour, err := browser.Evaluate[string](p, background); err != nil || colour != "rgb(16, 19, 24)" {
		t.Errorf("the background is %s: %v", colour, err)
	}
}
