package main

import (
	"net/http"

	"example.com/flashsale/internal/httpapi"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/pageview"
)

// withDebug adds the lab-only routes to api if LAB is on.
func withDebug(cfg config, api http.Handler, p pools, locks *lock.Client, observe func(lock.Event)) (handler http.Handler, close func(), err error) {
	close = func() {}
	if !cfg.Lab {
		return api, close, nil
	}
	views := httpapi.PageViews{
		Counter: pageview.New(p.rdb), Locks: locks, Instance: cfg.Instance,
		Options: lock.Options{TTL: cfg.LockTTL, Wait: cfg.LockWait, Class: "pview"},
	}
	if len(cfg.RedlockURLs) > 0 {
		var redlock lock.Locker
		redlock, close, err = openRedlock(cfg)
		views.Redlock = lock.New(redlock, lock.WithObserver(observe))
	}
	return httpapi.WithLabRoutes(api, views), close, err
}
