package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redisson"
)

// The lock that Java acquires with
//
//	redisson.getLock("redis_lock:userId:42").tryLock(10, TimeUnit.SECONDS)
//
// As in Java, a watchdog renews it until it is released.
func ExampleClient_Lock() {
	rdb, stop := labtest.ExampleRedis()
	defer stop()
	const key = "redis_lock:userId:42"
	ctx := context.Background()
	java := redisson.New(rdb).Lock() // in the place of a Java client
	client := lock.New(redisson.New(rdb).Lock())
	defer client.Close()

	err := client.Do(ctx, key, lock.Options{Wait: 10 * time.Second}, func(ctx context.Context, l *lock.Lock) error {
		_, err := java.TryLock(ctx, key, time.Second)
		fmt.Println("locked:", errors.Is(err, lock.ErrLocked))

		info, err := java.Inspect(ctx, key)
		if err != nil {
			return err
		}
		fmt.Println("holders:", len(info.Holders), "hold count:", info.Holders[0].HoldCount)
		return l.Err() // before each write
	})
	fmt.Println("error:", err)
	// Output:
	// locked: true
	// holders: 1 hold count: 1
	// error: <nil>
}
