// Command holder takes locks of bsm/redislock, extended every third of the lease. At the root of the repository,
// after make holders: make faults LOCK=examples/holders/go/holder BACKEND=redis CHECK=1
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

func say(words ...any) {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	fmt.Println(append([]any{now.Nano() / 1000}, words...)...)
}

// answer says ok, or the word for the library's verdict, or that nothing is known.
func answer(err error, ok string, verdict error, word string) {
	switch {
	case err == nil:
		say(ok)
	case errors.Is(err, verdict):
		say(word, err)
	default:
		say("unknown", err)
	}
}

// write writes until ctx ends, because the lock is lost or to be released.
func write(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	for tick := time.Tick(10 * time.Millisecond); ; <-tick {
		if err := context.Cause(ctx); errors.Is(err, redislock.ErrNotObtained) {
			say("lost", err)
		}
		if ctx.Err() != nil {
			return
		}
		say("write", 0)
	}
}

// extend cancels ctx when the library says that the lock is lost. Any other error is no word about it.
func extend(ctx context.Context, cancel context.CancelCauseFunc, lock *redislock.Lock, lease time.Duration) {
	for tick := time.Tick(lease / 3); ctx.Err() == nil; <-tick {
		if err := lock.Refresh(context.Background(), lease, nil); errors.Is(err, redislock.ErrNotObtained) {
			cancel(err)
		}
	}
}

func main() {
	locks := redislock.New(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDRS")}))
	lock, release := &redislock.Lock{}, func() {}
	say("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var key string
		var lease, wait time.Duration
		if n, _ := fmt.Sscanf(in.Text(), "acquire %s %d %d", &key, &lease, &wait); n < 3 {
			release()
			answer(lock.Release(context.Background()), "released", redislock.ErrLockNotHeld, "lost")
			continue
		}
		waiting, over := context.WithTimeout(context.Background(), (wait+lease)*time.Millisecond)
		retry := redislock.LimitRetry(redislock.LinearBackoff(100*time.Millisecond), int(wait/100))
		obtained, err := locks.Obtain(waiting, key, lease*time.Millisecond, &redislock.Options{RetryStrategy: retry})
		over()
		answer(err, "acquired 0", redislock.ErrNotObtained, "refused")
		lock = obtained
		if err == nil {
			ctx, cancel := context.WithCancelCause(context.Background())
			ended := make(chan struct{})
			go write(ctx, ended)
			go extend(ctx, cancel, lock, lease*time.Millisecond)
			release = func() { cancel(nil); <-ended }
		}
	}
}
