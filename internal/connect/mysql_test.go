package connect_test

import (
	"testing"

	"example.com/flashsale/internal/lab/labtest"
)

// A claim knows from the affected rows whether its order was inserted or one
// was there: clientFoundRows would count both.
func TestUnchangedRowsAreNotCountedWhateverTheDSNSays(t *testing.T) {
	t.Parallel()
	db := labtest.Open(t, labtest.DSN(t)+"?clientFoundRows=true")
	const q = `INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (1, 1, 1, NOW()) ON DUPLICATE KEY UPDATE id = id`
	for try, want := range []int64{1, 0} {
		result, err := db.ExecContext(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := result.RowsAffected(); n != want {
			t.Errorf("try %d: %d rows affected, want %d", try, n, want)
		}
	}
}
