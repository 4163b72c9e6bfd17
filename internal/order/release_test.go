package order_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
)

// A sticky lock is not let go of before it may.
type sticky struct {
	lock.Locker
	may chan struct{}
}

func (s *sticky) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	l, err := s.Locker.TryLock(ctx, key, ttl)
	return stickyLease{l, s.may}, err
}

type stickyLease struct {
	lock.Lease
	may chan struct{}
}

func (s stickyLease) Release(ctx context.Context) error {
	<-s.may
	return s.Lease.Release(ctx)
}

func TestAnOrderDoesNotWaitForItsLock(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	locker := &sticky{lock.Local(), make(chan struct{})}
	in := s.instance(without(locker), func(c *order.Config) {
		c.Coupons = coupon.NewCache(s.coupons, time.Hour) // it looks unsold: all come to the lock
	})
	id := s.coupon(1, 1)
	if _, err := in.Claim(t.Context(), 42, id); err != nil {
		t.Fatal(err)
	}
	// Who is refused waits, but not for longer than its time.
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := in.Claim(soon, 43, id); !errors.Is(err, coupon.ErrSoldOut) {
		t.Errorf("the second: %v, want sold out", err)
	}
	if soon.Err() == nil {
		t.Error("who was refused was told so before the lock was free")
	}
	closed := make(chan struct{})
	go func() { in.Close(); close(closed) }()
	select {
	case <-closed:
		t.Error("closed with a lock left")
	case <-time.After(100 * time.Millisecond):
	}
	close(locker.may)
	<-closed
	for user := range int64(2) {
		if _, err := locker.Locker.TryLock(t.Context(), order.UserKey(42+user), time.Minute); err != nil {
			t.Errorf("user %d: %v", 42+user, err)
		}
	}
}
