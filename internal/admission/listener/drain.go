package listener

import (
	"container/list"
	"context"
	"errors"
)

// Close implements net.Listener. It refuses the requests that wait, with responses that close
// their connection, and closes the connections that are parked. After Drain it does nothing:
// http.Server.Shutdown closes a listener that is closed already.
func (l *Listener) Close() error {
	l.CloseConnections()
	err := l.close()
	l.mu.Lock()
	l.closed = true
	late := l.takeLate(0)
	for _, queue := range []*list.List{&l.idle, &l.beginning} {
		for e := queue.Front(); e != nil; e = queue.Front() {
			l.drop(e.Value.(*Conn))
		}
	}
	l.changed.Broadcast()
	l.mu.Unlock()
	l.refuseTaken(late)
	return err
}

// CloseConnections makes each response from now on close its connection, those of
// refusals as well.
func (l *Listener) CloseConnections() { l.draining.Store(true) }

// Drain accepts no further connections, and returns when no request waits or is worked on
// and no connection is without its first request; then it closes the connections that are
// parked. Until then they are served. If ctx ends before, it closes them at once, and its
// error is that of ctx. Call it before http.Server.Shutdown, which drops connections whose
// request has not been read.
func (l *Listener) Drain(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})()
	l.CloseConnections()
	awaitHandshakes(ctx, l.Listener)
	err := l.close()
	l.mu.Lock()
	for ctx.Err() == nil && !l.isDrained() {
		l.changed.Wait()
	}
	l.mu.Unlock()
	return errors.Join(err, ctx.Err(), l.Close())
}

// isDrained reports whether nothing is to be done any more. It looks at parked connections
// because the poller may not have told yet of what has arrived there.
func (l *Listener) isDrained() bool {
	if l.err == nil || l.fresh+l.inHand+l.requests.Len()+l.busy+l.refusals > 0 {
		return false
	}
	for e := l.idle.Front(); e != nil; e = e.Next() {
		if e.Value.(*Conn).hasArrived() {
			return false
		}
	}
	return true
}
