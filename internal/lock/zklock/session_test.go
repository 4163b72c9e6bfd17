package zklock

import (
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
)

// The lab's servers limit the session timeout to a minute. A client that
// counted on the hour it asked for would keep leases that the server has
// already granted to others.
func TestGracePeriodFollowsTheServersTimeout(t *testing.T) {
	t.Parallel()
	l, err := Open([]string{labtest.SharedZooKeeper(t).Address}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.TryLock(t.Context(), labtest.Name(t), time.Minute); err != nil {
		t.Fatal(err)
	}
	l.session.mu.Lock()
	defer l.session.mu.Unlock()
	if l.session.grace != 15*time.Second {
		t.Errorf("grace period = %s, want 15s, a quarter of the server's minute", l.session.grace)
	}
}
