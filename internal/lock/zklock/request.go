package zklock

import (
	"context"
	"errors"
	"net"

	"github.com/go-zookeeper/zk"
)

var (
	// errNoSession reports that no server has replied for so long that the
	// session may have ended.
	errNoSession   = errors.New("no session with a server")
	errSessionLost = errors.New("session lost")
)

// maxRequests bounds the requests under way, and with them the goroutines and
// the nodes of unknown outcome that a silent server can cause.
const maxRequests = 256

// request runs op, which sends one request, and returns its result, or the cause
// of ctx if ctx ends first. The ZooKeeper client takes no contexts: op then ends
// with the connection.
//
// Without a connection, request waits for one as long as the leases are
// believed. After that it returns errNoSession. Nothing is sent in either case.
func request[T any](ctx context.Context, l *Locker, op func() (T, error)) (T, error) {
	var result, none T
	if err := l.begin(ctx); err != nil {
		return none, err
	}
	done := make(chan error, 1)
	go func() {
		v, err := op()
		if err == nil {
			result = v
		}
		<-l.requests
		done <- err
	}()
	select {
	case err := <-done:
		if errors.Is(err, zk.ErrSessionExpired) {
			err = errSessionLost
		}
		return result, err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// repeat is request for an op that may be repeated after a lost connection.
func repeat[T any](ctx context.Context, l *Locker, op func() (T, error)) (T, error) {
	result, err := request(ctx, l, op)
	for isConnectionLoss(err) && !isClosed(l.closed) {
		result, err = request(ctx, l, op)
	}
	return result, err
}

// begin waits for a connection and for a place among the requests under way.
func (l *Locker) begin(ctx context.Context) error {
	connected, lost := l.session.states()
	select {
	case <-connected:
	default:
		select {
		case <-connected:
		case <-lost:
			return errNoSession
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	select {
	case l.requests <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// awaitConnection waits for a connection, even if the session is lost, until
// Close.
func (l *Locker) awaitConnection(ctx context.Context) error {
	connected, _ := l.session.states()
	select {
	case <-connected:
		return nil
	case <-l.closed:
		return zk.ErrClosing
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isConnectionLoss reports whether a request may or may not have been executed,
// because its connection was lost.
func isConnectionLoss(err error) bool {
	var network *net.OpError
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionMoved) || errors.As(err, &network)
}
