package mysqllock

import (
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/locktest"
)

// A repeated acquire returns the same lease and fence, with the new ttl.
func TestAcquireMayBeRepeatedAfterALostReply(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	held := locktest.MustTryLock(t, NewRows(db), labtest.Name(t), 20*time.Second)
	fence := held.Fence()
	if err := held.(*rowLease).acquire(t.Context(), time.Minute); err != nil || held.Fence() != fence {
		t.Errorf("repeated acquire: %v, fence %d after %d, want the same", err, held.Fence(), fence)
	}
	var left int // seconds until the lease expires
	if err := db.GetContext(t.Context(), &left,
		"SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(6), expires_at) FROM locks"); err != nil || left <= 20 {
		t.Errorf("the lease expires %d s after the repeated acquire, %v; want its ttl of a minute", left, err)
	}
}
