package lock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/internal/lock"
)

// The work runs while the lock is held, and its context ends if the lock is
// lost. A process that was stopped learns that from Err, before the context has
// ended. With another driver the same code locks across processes.
func ExampleClient_Do() {
	client := lock.New(lock.Local())
	defer client.Close()

	err := client.Do(context.Background(), "report:2026-11", lock.Options{TTL: 10 * time.Second, Wait: time.Minute},
		func(ctx context.Context, l *lock.Lock) error {
			_, err := client.Acquire(context.Background(), l.Key(), lock.Options{})
			fmt.Println("another is refused:", errors.Is(err, lock.ErrLocked))
			if err := l.Err(); err != nil { // before each write
				return err
			}
			return ctx.Err() // pass ctx to everything that the work calls
		})
	fmt.Println("error:", err)
	// Output:
	// another is refused: true
	// error: <nil>
}

// A holder that must not continue after a loss watches Done or the context.
func ExampleLock_Done() {
	client := lock.New(lock.Local())
	defer client.Close()

	l, err := client.Acquire(context.Background(), "import", lock.Options{TTL: 50 * time.Millisecond, NoRenewal: true})
	if err != nil {
		panic(err)
	}
	<-l.Done() // without renewal the lock ends with its lease
	fmt.Println("lost:", errors.Is(l.Err(), lock.ErrLost))
	fmt.Println("release:", errors.Is(l.Release(context.Background()), lock.ErrLost))
	// Output:
	// lost: true
	// release: true
}
