// Package pictures makes the pictures that the READMEs show.
package pictures

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/flashsale/internal/lab/browser"
	"example.com/flashsale/loadtest/experiments/race"
	"example.com/flashsale/loadtest/rig"
)

// Run writes docs/pictures: the race of the opening page.
func Run(ctx context.Context) error {
	return writeRace(ctx, filepath.Join("docs", "pictures"))
}

// writeRace runs the race of the opening page on real servers, photographs it in
// a headless Chromium, and writes race-light.png and race-dark.png. It returns an
// error if the race does not show what it has to: duplicates without the lock,
// none with it.
func writeRace(ctx context.Context, dir string) error {
	b, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer b.Stop()
	return race.With(ctx, func(_ context.Context, url string) error {
		if err := runRace(b, url); err != nil {
			return err
		}
		return errors.Join(
			photograph(b, url, light, filepath.Join(dir, "race-light.png")),
			photograph(b, url, dark, filepath.Join(dir, "race-dark.png")))
	})
}

// A README is some 830 pixels wide.
var (
	light = browser.Look{Width: 1040, Height: 1200, Scale: 1.4}
	dark  = browser.Look{Width: 1040, Height: 1200, Scale: 1.4, Dark: true}
)

const (
	judged      = `document.querySelectorAll(".light:not(.open)").length === 6 && !document.querySelector("#start").disabled`
	showsRace   = `document.querySelectorAll(".side")[0].dataset.outcome === "broke" && document.querySelectorAll(".side")[1].dataset.outcome === "held"`
	showsLatest = `document.querySelector("#history-table td:last-child button").click()`
)

// runRace presses Start on the opening page and waits for both verdicts.
func runRace(b *browser.Browser, url string) error {
	fmt.Println("running the race …")
	p, err := b.Open(url, light, "")
	if err != nil {
		return err
	}
	defer p.Close()
	if err := wait(p, `document.querySelector("#preset").options.length > 1`); err != nil {
		return err
	}
	if err := chromedp.Do(p.Context, chromedp.Click(chromedp.CSS("#start"), chromedp.NodeVisible)); err != nil {
		return err
	}
	if err := wait(p, judged); err != nil {
		return err
	}
	if shown, err := browser.Evaluate[bool](p, showsRace); err != nil || !shown {
		return errors.Join(errors.New("the race does not show duplicates on the left and none on the right; see make race"), err)
	}
	return nil
}

// photograph writes the session's last race to a file.
func photograph(b *browser.Browser, url string, look browser.Look, file string) error {
	p, err := b.Open(url, look, "")
	if err != nil {
		return err
	}
	defer p.Close()
	if err := wait(p, `document.querySelectorAll("#history-table button").length > 0`); err != nil {
		return err
	}
	if _, err := browser.Evaluate[any](p, showsLatest); err != nil {
		return err
	}
	if err := wait(p, judged); err != nil {
		return err
	}
	png, err := capture(p)
	if err != nil {
		return err
	}
	return rig.WriteFile(file, png)
}

// wait waits until an expression is true.
func wait(p *browser.Page, expression string) error {
	_, err := chromedp.Run(p.Context, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(2*time.Minute)))
	if err != nil {
		return fmt.Errorf("wait for %s: %w", expression, err)
	}
	return nil
}
