package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/flashsale/internal/lab/browser"
)

// The API page must work in a real browser, in a dark scheme too: it takes a token and sends a trial
// request, without an error on the console, a request to another origin,
// or a refusal by its own policy.
func TestDocsWorkInABrowser(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newFixture(t))
	t.Cleanup(server.Close)
	p := browser.Start(t).Open(t, server.URL+"/docs/", browser.Look{Width: 1280, Height: 1000, Dark: true})
	p.Do(
		chromedp.Click(chromedp.CSS(`.btn.authorize`), chromedp.NodeVisible),
		chromedp.SendKeys(chromedp.CSS(`.auth-container input`), userToken(t, 42), chromedp.NodeVisible),
		chromedp.Click(chromedp.CSS(`.auth-btn-wrapper .authorize`), chromedp.NodeVisible),
		chromedp.Click(chromedp.CSS(`.close-modal`), chromedp.NodeVisible),
		chromedp.Click(chromedp.CSS(`#operations-user-list-coupons button`), chromedp.NodeVisible),
		chromedp.Click(chromedp.CSS(`.try-out__btn`), chromedp.NodeVisible),
		chromedp.Click(chromedp.CSS(`.btn.execute`), chromedp.NodeVisible),
	)
	status, err := chromedp.Run(p.Tab,
		chromedp.Poll[string](`document.querySelector(".live-responses-table tbody .response-col_status")?.innerText`,
			chromedp.WithPollingTimeout(time.Minute)))
	if err != nil || !strings.HasPrefix(status, "200") {
		t.Errorf("trying GET /coupons shows %q: %v", status, err)
	}
	const first = `document.querySelector(".opblock-summary-description").innerText`
	if summary := browser.Evaluate[string](p, first); summary != "Claim a coupon" {
		t.Errorf("the first operation is %q", summary)
	}
	const background = `getComputedStyle(document.documentElement).backgroundColor`
	if colour := browser.Evaluate[string](p, background); colour != "rgb(16, 19, 24)" {
		t.Errorf("the background is %s", colour)
	}
}
