package redislock_test

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
)

// Two instances of a service, each with a client of its own, count under one
// lock. The fence increases from holder to holder; a store that refuses a lower
// fence than the last is safe even from a holder whose lock was lost.
func ExampleFenced() {
	servers, err := lab.Open()
	if err != nil {
		panic(err)
	}
	defer servers.Close()
	redis, err := lab.StartRedis(servers)
	if err != nil {
		panic(err)
	}
	var last uint64
	for range 2 {
		rdb, err := connect.Redis(redis.URL, 8)
		if err != nil {
			panic(err)
		}
		defer rdb.Close()
		instance := lock.New(redislock.Fenced(rdb))
		defer instance.Close()
		err = instance.Do(context.Background(), "stock:7", lock.Options{Wait: time.Minute},
			func(_ context.Context, l *lock.Lock) error {
				if err := l.Err(); err != nil { // before each write
					return err
				}
				fmt.Println("fence increased:", l.Fence() > last) // covers what comes after the check
				last = l.Fence()
				return nil
			})
		if err != nil {
			panic(err)
		}
	}
	// Output:
	// fence increased: true
	// fence increased: true
}
