// Package check fails tests that do not get what they want.
package check

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// NoError ends the test unless err is nil.
func NoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// ErrorIs fails the test unless err is want.
func ErrorIs(tb testing.TB, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("%v, want %v", err, want)
	}
}

// Eventually calls ok until it returns true. It ends the test if that takes
// more than a minute, which a busy machine does not need.
func Eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within a minute: %s", what)
		}
	}
}

// Receive returns what channel delivers, or that it is closed. It ends the test if that
// takes more than a minute.
func Receive[T any](tb testing.TB, what string, channel <-chan T) T {
	tb.Helper()
	select {
	case v := <-channel:
		return v
	case <-time.After(time.Minute):
		tb.Fatalf("not within a minute: %s", what)
		panic("unreachable")
	}
}

// AtOnce calls do n times at once, with 0 to n-1, and returns when all calls have returned.
func AtOnce[N int | int64](n N, do func(i N)) {
	var calls sync.WaitGroup
	for i := N(0); i < n; i++ {
		calls.Go(func() { do(i) })
	}
	calls.Wait()
}

// Begin calls do in the background. The channel delivers its error.
func Begin(do func() error) (ended <-chan error) {
	end := make(chan error, 1)
	go func() { end <- do() }()
	return end
}
