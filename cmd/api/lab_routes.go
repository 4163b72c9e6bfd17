package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/httpapi"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/lockmetrics"
	"example.com/flashsale/internal/pageview"
)

// withLabRoutes adds the lab-only routes to api if LAB is on.
func withLabRoutes(
	cfg config, api http.Handler, p pools, locks *lock.Client, sections *httpapi.Sections,
	metrics prometheus.Registerer, opened *closers,
) (http.Handler, error) {
	if !cfg.Lab {
		return api, nil
	}
	views := httpapi.PageViews{
		Counter: pageview.New(p.rdb), Locks: locks, Instance: cfg.Instance,
		Options: lock.Options{TTL: cfg.LockTTL, Wait: cfg.LockWait, Class: "pview"},
	}
	if len(cfg.RedlockURLs) > 0 {
		redlock, _, err := openRedlock(cfg, opened)
		if err != nil {
			return nil, err
		}
		redlockMetrics, err := lockmetrics.New(metrics, "redlock_pview")
		if err != nil {
			return nil, err
		}
		views.Redlock = lock.New(redlock, lock.WithObserver(redlockMetrics.Observe))
		opened.add(views.Redlock.Close)
	}
	return httpapi.WithLabRoutes(api, views, sections), nil
}

// labSections returns nil unless LAB is on.
func labSections(cfg config) *httpapi.Sections {
	if !cfg.Lab {
		return nil
	}
	return httpapi.NewSections(cfg.ClaimPause)
}

// labStatements returns the option of a pool whose statements are reported with
// the critical sections, or none unless LAB is on.
func labStatements(cfg config) []connect.Option {
	if !cfg.Lab {
		return nil
	}
	return []connect.Option{connect.Observe(httpapi.RecordStep)}
}
