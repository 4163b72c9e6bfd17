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
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A Browser is a Chromium process with a profile of its own.
type Browser struct {
	ctx  context.Context
	stop context.CancelFunc
}

// Start starts a Browser. It ends with ctx, with Stop, and with this process.
func Start(ctx context.Context) (*Browser, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.Flag("headless", "new"), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, stop := chromedp.NewExecAllocator(ctx, options...)
	b, _ := chromedp.NewContext(allocator) // stop ends it
	if err := chromedp.Do(b); err != nil {
		stop()
		return nil, fmt.Errorf("browser: start Chromium (deploy/install.sh tests installs it): %w", err)
	}
	return &Browser{b, stop}, nil
}

// Stop ends the process and removes its profile.
func (b *Browser) Stop() {
	_ = chromedp.Cancel(b.ctx) // waits for the process
	b.stop()
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

// A Page is a tab. Context runs chromedp's actions on it.
type Page struct {
	Context context.Context
	Close   context.CancelFunc
	origin  *url.URL

	mu       sync.Mutex
	problems []string
}

// Open opens a URL in a tab that shares nothing with other tabs. Files that the
// page offers are saved in downloads.
func (b *Browser) Open(address string, look Look, downloads string) (*Page, error) {
	origin, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("browser: %w", err)
	}
	p := &Page{origin: origin}
	ctx, cancel := context.WithTimeout(b.ctx, lifetime)
	p.Context, _ = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.record))
	p.Close = cancel
	if err := p.open(address, look, downloads); err != nil {
		p.Close()
		return nil, fmt.Errorf("browser: open %s: %w", address, err)
	}
	return p, nil
}

func (p *Page) open(address string, look Look, downloads string) error {
	return errors.Join(
		p.enable(downloads),
		p.setLook(look),
		chromedp.Do(p.Context, chromedp.Navigate(address)))
}

func (p *Page) enable(downloads string) error {
	if err := chromedp.Do(p.Context); err != nil {
		return err
	}
	_, err := chromedp.Call(p.Context, network.Enable, network.EnableParams{})
	if err != nil || downloads == "" {
		return err
	}
	_, err = chromedp.CallBrowser(p.Context, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: downloads,
		BrowserContextID: chromedp.FromContext(p.Context).BrowserContextID,
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
	_, mediaErr := chromedp.Call(p.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: motion}},
	})
	_, languageErr := chromedp.Call(p.Context, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
		UserAgent: "Mozilla/5.0 Chromium", AcceptLanguage: language,
	})
	return errors.Join(mediaErr, languageErr,
		chromedp.Do(p.Context, chromedp.EmulateViewport(look.Width, look.Height, options...)))
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
	p.problems = append(p.problems, problem)
}

// Problems returns what was recorded so far.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problems
}

// Evaluate returns the value of a JavaScript expression. It waits for a promise.
func Evaluate[T any](p *Page, expression string) (T, error) {
	return chromedp.Run(p.Context, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Screenshot writes the whole page to a PNG file.
func (p *Page) Screenshot(file string) error {
	png, err := chromedp.Run(p.Context, chromedp.FullScreenshot(100))
	if err != nil {
		return fmt.Errorf("browser: take %s: %w", file, err)
	}
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, png, 0o644))
}
