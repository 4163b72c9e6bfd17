package main

import (
	"net/http"
	"net/http/pprof"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/pageview"
)

// openViews makes the page-view counter, in the lab only.
func openViews(cfg config, p pools, locker lock.Locker, observe func(lock.Event)) (views http.Handler, close func(), err error) {
	close = func() {}
	if !cfg.Lab {
		return nil, close, nil
	}
	r := pageview.Routes{
		Counter: pageview.New(p.rdb), Locker: locker, Instance: cfg.Instance,
		Options: lock.Options{TTL: cfg.LockTTL, Wait: cfg.LockWait, Class: "pview", Observe: observe},
	}
	if len(cfg.RedlockURLs) > 0 {
		r.Redlock, close, err = openRedlock(cfg)
	}
	return r.Handler(), close, err
}

// handler is the API, with the page views and profiles beside it in the lab.
func (s *service) handler() http.Handler {
	if s.views == nil {
		return s.api
	}
	mux := http.NewServeMux()
	mux.Handle("/", s.api)
	mux.Handle("/{version}/pview", s.views)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	return mux
}
