package generations

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// singleNodeLock is the articles' lock of one ephemeral node that all sessions create
// and watch.
type singleNodeLock struct {
	p    *process
	path string
	conn *zk.Conn
}

func (l *singleNodeLock) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	if err := l.connect(ttl); err != nil {
		return false, err
	}
	for {
		_, err := l.conn.Create(l.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNodeExists) {
			return err == nil, err
		}
		exists, _, changed, err := l.conn.ExistsW(l.path)
		if err != nil {
			return false, err
		}
		if !exists {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func (l *singleNodeLock) connect(timeout time.Duration) (err error) {
	if l.conn != nil {
		return nil
	}
	if l.conn, _, err = zk.Connect([]string{l.p.zookeeper}, timeout, zk.WithLogInfo(false)); err == nil {
		l.p.sessions = append(l.p.sessions, l.conn.Close)
	}
	return err
}

func (l *singleNodeLock) Unlock(context.Context) error { return l.conn.Delete(l.path, -1) }
