package main

import (
	"net/http"

	"example.com/flashsale/internal/httpapi"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/pageview"
)

// withDebug adds the lab-only routes to api if LAB is on.
func withDebug(cfg config, api http.Handler, p pools, locker lock.Locker, observe func(lock.Event)) (handler http.Handler, close func(), err error) {
	close = func() {}
	if !cfg.Lab {
		return api, close, nil
	}
	views := httpapi.PageViews{
		Counter: pageview.New(p.rdb), Locker: locker, Instance: cfg.Instance,
		Options: lock.Options{TTL: cfg.LockTTL, Wait: cfg.LockWait, Class: "pview", Observe: observe},
	}
	if len(cfg.RedlockURLs) > 0 {
		views.Redlock, close, err = openRedlock(cfg)
	}
	return httpapi.WithLabRoutes(api, views), close, err
}
