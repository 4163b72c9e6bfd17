package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/loadtest/holder"
)

// zookeeperHolder takes each lock with a session of its own: only the end of its session
// ends the wait of a zk.Lock.
func zookeeperHolder(ctx context.Context, key string, lease, wait time.Duration) (holder.Held, error) {
	conn, events, err := zk.Connect(strings.Split(os.Getenv("ZOOKEEPER_ADDRS"), ","), lease)
	if err != nil {
		return nil, err
	}
	expired := make(chan struct{})
	go watchSession(events, expired)
	l := zk.NewLock(conn, "/"+key, zk.WorldACL(zk.PermAll))
	acquired := make(chan error, 1)
	go func() { acquired <- l.Lock() }()
	select {
	case err = <-acquired:
	case <-time.After(wait):
		err = lock.ErrLocked
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return zookeeperHeld{watched{expired, func(context.Context) error {
		defer conn.Close()
		err := l.Unlock()
		return lostIf(err, errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrSessionExpired))
	}}, conn}, nil
}

// watchSession closes expired when the session ends. The client then begins another one,
// which does not hold the lock.
func watchSession(events <-chan zk.Event, expired chan struct{}) {
	var over bool
	for e := range events {
		if e.State == zk.StateExpired && !over {
			over = true
			close(expired)
		}
	}
}

// zookeeperHeld is a lock that is held.
type zookeeperHeld struct {
	watched
	conn *zk.Conn
}

// Err implements holder.Held. Without a connection, ZooKeeper's guide says, a client
// cannot know whether its session has ended.
func (z zookeeperHeld) Err() error {
	err := z.watched.Err()
	if err == nil && z.conn.State() != zk.StateHasSession {
		return holder.ErrUncertain
	}
	return err
}
