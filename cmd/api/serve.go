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
	"example.com/flashsale/internal/admission/listener"
	"example.com/flashsale/internal/order"
)

// serve opens the service and serves requests until ctx ends and the last
// request has been served.
func serve(ctx context.Context, getenv func(string) string, stderr io.Writer) error {
	cfg, err := configFrom(getenv)
	if err != nil {
		return fmt.Errorf("settings:\n%w", err)
	}
	log := newLog(cfg, stderr)
	s, err := open(cfg, log)
	if err != nil {
		return err
	}
	defer s.close()
	l, err := listen(cfg.HTTPAddr)
	if err != nil {
		return fmt.Errorf("HTTP_ADDR: %w", err)
	}
	log.Info("listening", "version", version, "address", l.Addr().String(), "settings", cfg)
	cfg.warn(log)
	warnMistyped(log, os.Environ())
	return s.serve(ctx, cfg, l)
}

func newLog(cfg config, w io.Writer) *slog.Logger {
	var handler slog.Handler = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: cfg.LogLevel})
	if cfg.tracesOn() {
		handler = traceHandler{handler}
	}
	return slog.New(handler).With("instance", cfg.Instance)
}

// serve serves requests on l and prepares the database meanwhile. It
// drains when ctx ends, and returns early if either part fails.
func (s *service) serve(ctx context.Context, cfg config, l net.Listener) error {
	server := newServer(cfg, s.handler, s.log)
	queue, err := listener.New(l, server, listener.Config{
		Conns: cfg.HTTPConns, Limits: cfg.timeout().Waits(),
		Response: s.api.Overloaded(), RefusesUnread: s.api.RefusesUnread,
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s.metrics.MustRegister(httpConns{queue})
	running, fail := context.WithCancelCause(ctx)
	prepared := make(chan struct{})
	go func() { fail(server.Serve(queue)) }()
	go func() {
		defer close(prepared)
		if err := s.prepare(ctx, cfg); err != nil {
			fail(err)
		}
	}()
	<-running.Done()
	if ctx.Err() == nil {
		return errors.Join(context.Cause(running), server.Close())
	}
	return s.drain(ctx, cfg, queue, server, prepared)
}

// drain shuts down without failing a request: first /readyz turns 503 for the
// load balancers, then the listener closes, then everything ends that is still
// running: requests, transactions that outlive their requests, a migration.
func (s *service) drain(
	ctx context.Context, cfg config, queue *listener.Listener, server *http.Server, prepared <-chan struct{},
) error {
	s.log.Info("draining")
	s.api.Drain()
	queue.CloseConnections()
	time.Sleep(cfg.DrainDelay)
	s.shutdown()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.DrainTimeout)
	defer cancel()
	err := errors.Join(queue.Drain(ctx), server.Shutdown(ctx))
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	if err := errors.Join(err, s.claims.Close(ctx)); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	select {
	case <-prepared:
	case <-ctx.Done():
		return errors.New("drain: a migration is still running; the next start repeats it")
	}
	s.log.Info("drained")
	return nil
}

func (c config) timeout() admission.Timeout { return admission.Timeout(c.ClaimTimeout) }

// running returns how many claims run at a time. They are no more than the connections
// that may be busy, of which a coupon whose row is locked must leave some to the others.
func (c config) running() int { return min(order.MaxRunning, listener.Places(c.HTTPConns)) }

// newServer returns a server with every limit that bounds what a slow or
// malicious client can occupy. The write timeout includes the time to read the
// request and to handle it.
func newServer(cfg config, api http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           api,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      cfg.timeout().Write(),
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
	switch {
	case err == nil:
		return nil, errors.Join(fmt.Errorf("%s is in use", path), conn.Close())
	case errors.Is(err, syscall.EAGAIN): // it has too many connections that wait
		return nil, fmt.Errorf("%s is in use", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", path)
}
