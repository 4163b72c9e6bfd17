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
	path string
	conn *zk.Conn
}

func newSingleNodeLock(p *process) *singleNodeLock {
	s := p.scenario
	conn, _, err := zk.Connect([]string{s.zookeeper.Address}, longLease, zk.WithLogInfo(false))
	if s.check(err); err == nil {
		s.closes = append(s.closes, conn.Close)
	}
	return &singleNodeLock{"/" + p.key, conn}
}

func (l *singleNodeLock) TryLock(ctx context.Context, _ time.Duration) (bool, error) {
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

func (l *singleNodeLock) Unlock(context.Context) error { return l.conn.Delete(l.path, -1) }
