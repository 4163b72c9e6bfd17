// Package browser opens pages in a headless Chromium and records what goes wrong
// on them, for tests.
package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

// A Browser is a Chromium process with a profile of its own.
type Browser struct{ ctx context.Context }

// Start starts a Browser, which ends with tb, and with this process.
func Start(tb testing.TB) *Browser {
	tb.Helper()
	labtest.NeedServers(tb)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.Flag("headless", "new"), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	tb.Cleanup(stop)
	b, _ := chromedp.NewContext(allocator) // stop ends it
	if err := chromedp.Do(b); err != nil {
		tb.Fatalf("start Chromium (deploy/install.sh tests installs it): %v", err)
	}
	tb.Cleanup(func() { _ = chromedp.Cancel(b) }) // waits for the process
	return &Browser{b}
}

// A Look is what a page is told of the user and the screen.
type Look struct {
	Width, Height int64
	Scale         float64 // pixels of the screen for one of the page; 0 is 1
	Dark          bool
	Motion        bool   // the user has not asked for reduced motion
	Language      string // like zh-CN; empty is English
}

// lifetime bounds how long a page is open. An action that waits for an element
// that never comes would wait forever.
const lifetime = 5 * time.Minute

// A Page is a tab of a test, which it fails. Chromedp's actions run on Tab. Files that the page offers
// are saved in Downloads.
type Page struct {
	testing.TB
	Tab       context.Context
	Downloads string
	origin    *url.URL

	mu          sync.Mutex
	problems    []string
	interrupted bool // since the page was opened
}

// Open opens a URL in a tab that shares nothing with other tabs. It is closed at the end of tb,
// which fails if the page has had a problem.
func (b *Browser) Open(tb testing.TB, address string, look Look) *Page {
	tb.Helper()
	origin, err := url.Parse(address)
	check.NoError(tb, err)
	p := &Page{TB: tb, Downloads: tb.TempDir(), origin: origin}
	ctx, cancel := context.WithTimeout(b.ctx, lifetime)
	tb.Cleanup(func() {
		cancel()
		for _, problem := range p.problems {
			tb.Errorf("%s: %s", address, problem)
		}
	})
	p.Tab, _ = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.record))
	check.NoError(tb, errors.Join(p.enable(), p.setLook(look), chromedp.Do(p.Tab, chromedp.Navigate(address))))
	for p.wasInterrupted() {
		check.NoError(tb, chromedp.Do(p.Tab, chromedp.Navigate("about:blank"), chromedp.Navigate(address)))
	}
	return p
}

// wasInterrupted reports whether requests have failed since the last call because another
// test has changed the network of this machine.
func (p *Page) wasInterrupted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.interrupted = false }()
	return p.interrupted
}

func (p *Page) enable() error {
	if err := chromedp.Do(p.Tab); err != nil {
		return err
	}
	_, err := chromedp.Call(p.Tab, network.Enable, network.EnableParams{})
	if err != nil {
		return err
	}
	_, err = chromedp.CallBrowser(p.Tab, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: p.Downloads,
		BrowserContextID: chromedp.FromContext(p.Tab).BrowserContextID,
	})
	return err
}

func (p *Page) setLook(look Look) error {
	scheme, motion, language := "light", "reduce", "en-US"
	if look.Dark {
		scheme = "dark"
	}
	if look.Motion {
		motion = "no-preference"
	}
	if look.Language != "" {
		language = look.Language
	}
	var options []chromedp.EmulateViewportOption
	if look.Scale > 0 {
		options = append(options, chromedp.EmulateScale(look.Scale))
	}
	if look.Width < 600 {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	_, mediaErr := chromedp.Call(p.Tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: motion}},
	})
	_, languageErr := chromedp.Call(p.Tab, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
		UserAgent: "Mozilla/5.0 Chromium", AcceptLanguage: language,
	})
	return errors.Join(mediaErr, languageErr,
		chromedp.Do(p.Tab, chromedp.EmulateViewport(look.Width, look.Height, options...)))
}

// record records errors of the console, exceptions, refusals by the page's
// policy, and requests to another origin.
func (p *Page) record(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.add((&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			p.add(fmt.Sprintf("console.%s: %s", e.Type, e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			p.add(fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Scheme != "data" && u.Scheme != "blob" &&
			(u.Scheme != p.origin.Scheme || u.Host != p.origin.Host) {
			p.add("request to another origin: " + e.Request.URL)
		}
	}
}

func (p *Page) add(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.Contains(problem, "net::ERR_NETWORK_CHANGED") {
		p.interrupted = true
		return
	}
	p.problems = append(p.problems, problem)
}

// Evaluate returns the value of a JavaScript expression. It waits for a promise.
func Evaluate[T any](p *Page, expression string) T {
	p.Helper()
	value, err := chromedp.Run(p.Tab, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return value
}

// Do runs actions on the page.
func (p *Page) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	check.NoError(p, chromedp.Do(p.Tab, actions...))
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) {
	p.Helper()
	_, err := chromedp.Run(p.Tab, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(2*time.Minute)))
	if err != nil {
		p.Fatalf("wait for %s: %v; the page says %.500q", expression, err, Evaluate[string](p, "document.body.innerText"))
	}
}

// Screenshot writes the whole page to a PNG file.
func (p *Page) Screenshot(file string) {
	p.Helper()
	png, err := chromedp.Run(p.Tab, chromedp.FullScreenshot(100))
	check.NoError(p, err)
	check.NoError(p, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, png, 0o644)))
}
