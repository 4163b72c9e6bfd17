package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

// Half of the first starts are killed, the other half is asked to stop, at moments that are
// spread over the migration.
func TestStoppedFirstStartLeavesASchemaThatTheNextStartUses(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	redis := labtest.Redis(t)
	const starts, migration = 10, 150 * time.Millisecond
	for i := range starts {
		dsn := labtest.EmptyDatabase(t, labtest.SharedMySQL(t))
		first := exec.Command(binary, "serve")
		first.Env = append(os.Environ(), "MYSQL_DSN="+dsn, "REDIS_URL="+redis.URL, "JWT_SECRET="+secret,
			"HTTP_ADDR=127.0.0.1:0")
		check.NoError(t, first.Start())
		time.Sleep(time.Duration(i)*migration/starts + rand.N(migration/starts))
		signal := syscall.SIGTERM
		if i%2 == 0 {
			signal = syscall.SIGKILL
		}
		_ = first.Process.Signal(signal)
		_ = first.Wait()
		db := labtest.Open(t, dsn)
		if err := migrations.Up(t.Context(), db.DB); err != nil {
			t.Fatalf("start %d: the next start: %v", i, err)
		}
		const insert = "INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (1, 2, 3, NOW())"
		if _, err := db.Exec(insert); err != nil {
			t.Fatalf("start %d: the next start's schema: %v", i, err)
		}
		_ = db.Close()
	}
}
