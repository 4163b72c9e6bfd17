package main

import (
	"context"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/labroutes"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/pageview"
	"example.com/flashsale/internal/settings"
)

// openLab adds the lab-only routes to the handler if LAB is on.
func (s *service) openLab() (err error) {
	if s.handler = s.api; !s.cfg.Lab {
		return nil
	}
	views := labroutes.PageViews{
		Counter: pageview.New(s.rdb), Locks: s.locks, Instance: s.cfg.Instance,
		Options: lock.Options{TTL: s.cfg.LockTTL, Wait: s.cfg.LockWait, Class: "pview"},
	}
	if len(s.cfg.RedlockURLs) > 0 {
		views.Redlock, _, err = s.openLocker("redlock", "redlock_pview")
	}
	s.handler = labroutes.Wrap(s.api, views, s.sections)
	return err
}

// labSections returns nil unless LAB is on. Without the guard end it is not claims that pause.
func labSections(cfg settings.Settings) *labroutes.Sections {
	if !cfg.Lab {
		return nil
	}
	pause := cfg.ClaimPause
	if cfg.Lacks("end") {
		pause = 0
	}
	return labroutes.NewSections(pause)
}

// labRecord has the statements of the pool reported with the critical sections if LAB is on.
func labRecord(cfg settings.Settings) connect.Option {
	if !cfg.Lab {
		return connect.WrapBy(func(c connect.Conn) connect.Conn { return c })
	}
	return connect.WrapBy(labroutes.Record)
}

// noWinners finds no order of a number: it is not the client that chooses numbers.
type noWinners struct{ order.Winners }

// Find implements order.Winners.
func (noWinners) Find(coupon.Coupon, order.Claimant) (int64, bool) { return 0, false }

func labWinners(cfg settings.Settings, w order.Winners) order.Winners {
	if cfg.Lacks("number") {
		return noWinners{w}
	}
	return w
}

// lockedUser returns what holds the lock that a claim of the user takes.
func lockedUser(
	cfg settings.Settings, locks *lock.Client,
) func(context.Context, int64, func(context.Context) error) error {
	return func(ctx context.Context, userID int64, do func(context.Context) error) error {
		o := lock.Options{TTL: cfg.LockTTL, Wait: cfg.LockWait, Class: order.LockClass}
		return locks.Do(ctx, cfg.LockPrefix()+order.UserKey(userID), o,
			func(ctx context.Context, _ *lock.Lock) error { return do(ctx) })
	}
}
