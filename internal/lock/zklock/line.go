package zklock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/lock"
)

// try makes a node if there is none: its directory's version, which every new
// node raises, must be the one it had when it was empty.
func (l *lease) try(ctx context.Context) error {
	for {
		dir, err := await(ctx, l.look)
		if err != nil {
			return err
		}
		if len(dir.line) > 0 {
			return lock.ErrLocked
		}
		if err := l.enter(ctx, dir.version); !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
	}
}

// wait makes a node and waits until it is the first.
func (l *lease) wait(ctx context.Context) error {
	err := l.enter(ctx, anyVersion)
	for err == nil {
		var ahead string
		if ahead, err = await(ctx, l.ahead); err == nil && ahead == "" {
			return nil
		}
		if err == nil {
			err = l.watch(ctx, ahead)
		}
		if interrupted(err) { // our node may outlive it, and with it our place
			err = l.rest(ctx)
		}
	}
	if ctx.Err() != nil {
		return errors.Join(lock.ErrLocked, context.Cause(ctx))
	}
	return err
}

// watch returns when ahead is gone, or may be.
func (l *lease) watch(ctx context.Context, ahead string) error {
	gone, err := await(ctx, func() (<-chan zk.Event, error) {
		there, _, gone, err := l.locker.conn.ExistsW(l.dir + "/" + ahead)
		if !there {
			return nil, err
		}
		return gone, err
	})
	if err != nil || gone == nil {
		return err
	}
	select {
	case <-gone:
		return nil
	case <-l.lost:
		return errSession
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// rest waits a little for the connection to come back.
func (l *lease) rest(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-l.lost:
		return errSession
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func interrupted(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer)
}

// enter makes our node. If ctx ends before the outcome is known, whatever it
// is goes away after it.
func (l *lease) enter(ctx context.Context, version int32) (err error) {
	l.name, err = await(ctx, func() (string, error) {
		name, err := l.create(ctx, version)
		if ctx.Err() != nil {
			go l.forget()
		}
		return name, err
	})
	if err != nil {
		return err
	}
	l.fence, err = await(ctx, func() (uint64, error) {
		there, stat, err := l.locker.conn.Exists(l.path())
		if err != nil {
			return 0, err
		}
		if !there {
			return 0, errSession
		}
		return uint64(stat.Czxid), nil
	})
	return err
}

// Versions of a directory: what a condition takes for none, and what one that
// is not there will begin with.
const (
	anyVersion   = -1
	firstVersion = 0
)

var everybody = zk.WorldACL(zk.PermAll)

// create makes our node and raises its directory's version, which must be the
// given one. The directory is made if need be; it may vanish between the two.
// A node whose reply was lost is found by its id.
func (l *lease) create(ctx context.Context, version int32) (name string, err error) {
	for range 10 {
		done, err := l.locker.conn.Multi(
			&zk.SetDataRequest{Path: l.dir, Version: version},
			&zk.CreateRequest{Path: l.dir + "/" + l.id + "-", Acl: everybody, Flags: zk.FlagEphemeral | zk.FlagSequence},
		)
		switch {
		case err == nil:
			return strings.TrimPrefix(done[1].String, l.dir+"/"), nil
		case interrupted(err):
			return l.find(ctx)
		case !errors.Is(err, zk.ErrNoNode):
			return "", err
		}
		for _, dir := range []string{"/locks", l.dir} {
			_, err := l.locker.conn.CreateContainer(dir, nil, zk.FlagContainer, everybody)
			if err != nil && !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoNode) {
				return "", err
			}
		}
	}
	return "", errors.New("the lock's directory keeps vanishing")
}

// find looks for a node that we may have made, as soon as it can.
func (l *lease) find(ctx context.Context) (string, error) {
	dir, err := l.look()
	for interrupted(err) {
		if err = l.rest(ctx); err == nil {
			dir, err = l.look()
		}
	}
	for _, name := range dir.line {
		if l.owns(name) {
			return name, nil
		}
	}
	return "", errors.Join(zk.ErrConnectionClosed, err)
}

func (l *lease) owns(name string) bool { return strings.HasPrefix(name, l.id) }

// ahead names the node before ours, if there is one; it reports ErrLost if
// ours is gone.
func (l *lease) ahead() (string, error) {
	dir, err := l.look()
	if err != nil {
		return "", err
	}
	switch i := slices.Index(dir.line, l.name); i {
	case -1:
		return "", errSession
	case 0:
		return "", nil
	default:
		return dir.line[i-1], nil
	}
}

// A directory is who holds and waits, in this order, as of a version.
type directory struct {
	line    []string
	version int32
}

func (l *lease) look() (directory, error) {
	names, stat, err := l.locker.conn.Children(l.dir)
	if errors.Is(err, zk.ErrNoNode) {
		return directory{version: firstVersion}, nil
	}
	if err != nil {
		return directory{}, err
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(sequence(a), sequence(b)) })
	return directory{names, stat.Version}, nil
}

// sequence is the part of a name that ZooKeeper has given.
func sequence(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }
