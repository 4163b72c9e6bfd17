package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/observe"
	"example.com/flashsale/internal/settings"
)

// serve opens the service and serves requests until ctx ends and the last
// request has been served.
func serve(ctx context.Context, getenv func(string) string, stderr io.Writer) error {
	cfg, err := settings.From(getenv)
	if err != nil {
		return fmt.Errorf("settings:\n%w", err)
	}
	log := newLog(cfg, stderr)
	log.Info("starting", "version", version, "settings", cfg)
	cfg.Warn(log, os.Environ(), settings.OpenFiles())
	s, err := open(cfg, log)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.awaitPrepared(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	l, err := listen(cfg.HTTPAddr)
	if err != nil {
		return fmt.Errorf("HTTP_ADDR: %w", err)
	}
	log.Info("listening", "address", l.Addr().String())
	return s.serve(ctx, l)
}

func newLog(cfg settings.Settings, w io.Writer) *slog.Logger {
	json := slog.NewJSONHandler(newLogWriter(w), &slog.HandlerOptions{Level: cfg.LogLevel})
	return slog.New(observe.LogHandler{Handler: json}).With("instance", cfg.Instance)
}

// serve serves requests on l. It drains when ctx ends, and returns early if it fails.
func (s *service) serve(ctx context.Context, l net.Listener) error {
	bounded := admission.Bound(l, s.cfg.HTTPConns, s.cfg.Timeout(), s.api.Overloaded())
	server := newServer(s.cfg, closing(bounded.Crowded, s.handler), s.log)
	observe.HTTP(s.metrics, bounded)
	running, fail := context.WithCancelCause(ctx)
	go func() { fail(server.Serve(bounded)) }()
	go s.api.Watch(running)
	<-running.Done()
	if ctx.Err() == nil {
		return errors.Join(context.Cause(running), server.Close())
	}
	return s.drain(ctx, bounded, server)
}

// drain shuts down without failing a request: first /readyz turns 503 for the
// load balancers, then the listener closes, then everything ends that is still
// running: requests, and transactions that outlive their requests.
func (s *service) drain(ctx context.Context, l *admission.Listener, server *http.Server) error {
	s.log.Info("draining")
	s.api.Drain()
	time.Sleep(s.cfg.DrainDelay)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.DrainTimeout)
	defer cancel()
	err := errors.Join(l.Drain(ctx), server.Shutdown(ctx))
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	if err := errors.Join(err, s.claims.Close(ctx)); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	s.log.Info("drained")
	return nil
}

// closing returns next, with responses that close their connection while crowded.
func closing(crowded func() bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if crowded() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// newServer returns a server with every limit that bounds what a slow or
// malicious client can occupy. The write timeout includes the time to read the
// request and to handle it.
func newServer(cfg settings.Settings, api http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           api,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      cfg.Timeout().Write(),
		IdleTimeout:       75 * time.Second, // above nginx's 4 s, so that nginx closes idle connections first
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// listen listens on host:port or unix:/path. It removes a socket that a killed
// instance has left at the path, but not one that is in use.
func listen(address string) (net.Listener, error) {
	path, unix := strings.CutPrefix(address, "unix:")
	if !unix {
		return net.Listen("tcp", address)
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		return nil, errors.Join(fmt.Errorf("%s is in use", path), conn.Close())
	}
	info, _ := os.Stat(path) // a file refuses connections, too
	if errors.Is(err, syscall.ECONNREFUSED) && info != nil && info.Mode().Type() == os.ModeSocket {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return net.Listen("unix", path)
}
