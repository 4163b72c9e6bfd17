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
	"time"
)

// serve answers requests until ctx ends and the last one is answered.
func serve(ctx context.Context, getenv func(string) string, stderr io.Writer) error {
	cfg, err := configFrom(getenv)
	if err != nil {
		return fmt.Errorf("settings:\n%w", err)
	}
	log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: cfg.LogLevel})).With("instance", cfg.Instance)
	s, err := open(cfg, log)
	if err != nil {
		return err
	}
	defer s.close() // the pools go last, when no request is left
	listener, err := listen(cfg.HTTPAddr)
	if err != nil {
		return fmt.Errorf("HTTP_ADDR: %w", err)
	}
	log.Info("listening", "address", listener.Addr().String(), "settings", cfg)
	cfg.warn(log)
	return s.serve(ctx, cfg, listener)
}

func (s *service) serve(ctx context.Context, cfg config, listener net.Listener) error {
	server := newServer(cfg, s.handler, s.log)
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(listener) }()
	go func() { failed <- s.prepare(ctx, cfg) }()
	for {
		select {
		case <-ctx.Done():
			return s.drain(ctx, cfg, server)
		case err := <-failed:
			if err != nil && ctx.Err() == nil {
				return errors.Join(err, server.Close())
			}
		}
	}
}

// drain ends the service in an order that answers everybody: first load
// balancers learn of it, then the listener closes, then requests in flight end.
func (s *service) drain(ctx context.Context, cfg config, server *http.Server) error {
	s.log.Info("draining")
	s.api.Drain()
	time.Sleep(cfg.DrainDelay)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.DrainTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("drain: %w", err), server.Close())
	}
	s.log.Info("drained")
	return nil
}

// newServer sets every limit that keeps a slow or greedy client from holding
// on to the process. Writing may take as long as reading and work together.
func newServer(cfg config, api http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           api,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      20*time.Second + cfg.ClaimTimeout,
		IdleTimeout:       75 * time.Second, // above nginx's 60, so that nginx is the one to close
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// listen listens on host:port or unix:/path, after removing what an instance
// that was killed left at the path.
func listen(address string) (net.Listener, error) {
	path, unix := strings.CutPrefix(address, "unix:")
	if !unix {
		return net.Listen("tcp", address)
	}
	if conn, err := net.Dial("unix", path); err == nil {
		return nil, errors.Join(fmt.Errorf("%s is in use", path), conn.Close())
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", path)
}
