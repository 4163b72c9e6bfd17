package connect_test

import (
	"strings"
	"testing"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab/labtest"
)

// A claim tells from the affected rows whether its order was inserted or existed
// before. With clientFoundRows an existing order would be counted too.
func TestUnchangedRowsDoNotCountAsAffected(t *testing.T) {
	t.Parallel()
	db := labtest.Open(t, labtest.DSN(t)+"&clientFoundRows=true")
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

func TestBadDSNIsAnErrorWithoutThePassword(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"root:hunter2@nowhere", "root:hunter2@tcp(db)/"} {
		if _, err := connect.MySQL(dsn, 1); err == nil {
			t.Errorf("%s is accepted", dsn)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error quotes a password: %v", err)
		}
	}
}
