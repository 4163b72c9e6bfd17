package redislock

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
)

// A lease is one token in one key.
type lease struct {
	locker *Locker
	key    string
	token  string
	fence  uint64
	asked  attempts // to release

	mu    sync.Mutex
	valid time.Time // the server cannot have expired the key before
	over  bool      // released, or known to be lost
}

// Fence implements lock.Lease.
func (l *lease) Fence() uint64 { return l.fence }

// Extend implements lock.Lease.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	return l.locker.ExtendAll(ctx, ttl, []lock.Lease{l})[0]
}

// Release lets go. When a reply is lost and the retry finds the key gone
// before its time, the first attempt is what took it: that is a release, not
// a loss.
func (l *lease) Release(ctx context.Context) error {
	if l.ended() {
		return lock.ErrLost
	}
	released, err := l.delete(ctx)
	if err != nil {
		return fmt.Errorf("redislock: release %s: %w", l.key, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return lock.ErrLost // another Release was faster
	}
	l.over = true
	if released || l.asked.repeated() && time.Now().Before(l.valid) {
		return nil
	}
	return lock.ErrLost
}

// delete removes the key if it holds our token, and reports whether it did.
func (l *lease) delete(ctx context.Context) (bool, error) {
	if rounds := l.locker.rounds; rounds != nil {
		done, sent, err := rounds.letGo(ctx, l.key, l.token)
		l.asked.n.Add(sent)
		return done, err
	}
	keys, args := []string{l.key}, []any{l.token, l.locker.publish, &l.asked}
	cmd := releaseScript.EvalSha(ctx, l.locker.send, keys, args...)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		l.asked.reset() // that attempt did nothing
		cmd = releaseScript.Eval(ctx, l.locker.send, keys, args...)
	}
	return cmd.Bool()
}

// abandon tries to let go of what an unknown outcome may have left, whatever
// has become of ctx. Should it fail too, the ttl is what ends the lease.
func (l *lease) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	_, _ = l.delete(ctx)
}

func (l *lease) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// expect notes that the key's end is about to be moved to end; until the
// answer is there, the nearer of the two ends counts.
func (l *lease) expect(end time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if end.Before(l.valid) {
		l.valid = end
	}
}

// extended notes the answer to an extension up to end.
func (l *lease) extended(ok bool, end time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !ok || l.over {
		l.over = true
		return lock.ErrLost
	}
	l.valid = end
	return nil
}

// attempts is an argument that counts how often the client has written it:
// go-redis repeats a command whose reply it lost, and tells nobody.
type attempts struct{ n atomic.Int64 }

// MarshalBinary is called for every write of the command.
func (a *attempts) MarshalBinary() ([]byte, error) {
	return strconv.AppendInt(nil, a.n.Add(1), 10), nil
}

func (a *attempts) repeated() bool { return a.n.Load() > 1 }
func (a *attempts) reset()         { a.n.Store(0) }
