package main

import (
	"database/sql"
	"database/sql/driver"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/labroutes"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/observe"
	"example.com/flashsale/internal/pageview"
)

// withLabRoutes adds the lab-only routes to api if LAB is on.
func withLabRoutes(
	cfg config, api http.Handler, p pools, locks *lock.Client, sections *labroutes.Sections,
	metrics prometheus.Registerer, o *opened,
) (http.Handler, error) {
	if !cfg.Lab {
		return api, nil
	}
	views := labroutes.PageViews{
		Counter: pageview.New(p.rdb), Locks: locks, Instance: cfg.Instance,
		Options: lock.Options{TTL: cfg.LockTTL, Wait: cfg.LockWait, Class: "pview"},
	}
	if len(cfg.RedlockURLs) > 0 {
		cfg.Lock = "redlock"
		redlock, _, err := openLocker(cfg, p, o)
		if err != nil {
			return nil, err
		}
		views.Redlock = lock.New(redlock, lock.WithObserver(observe.Locks(metrics, "redlock_pview")))
		o.add(views.Redlock.Close)
	}
	return labroutes.Wrap(api, views, sections), nil
}

// labSections returns nil unless LAB is on.
func labSections(cfg config) *labroutes.Sections {
	if !cfg.Lab {
		return nil
	}
	return labroutes.NewSections(cfg.ClaimPause)
}

// labOpen returns open, but with LAB on the statements of the pool are reported with
// the critical sections.
func labOpen(cfg config, open func(driver.Connector) *sql.DB) connect.Option {
	if !cfg.Lab {
		return connect.OpenBy(open)
	}
	return connect.OpenBy(func(c driver.Connector) *sql.DB { return open(labroutes.Recorded(c)) })
}
