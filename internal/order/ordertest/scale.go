package ordertest

import (
	"os"
	"testing"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// Measurement returns the length of a measurement. It skips the test if SCALE is
// not set.
func Measurement(t *testing.T) time.Duration {
	t.Helper()
	length, err := time.ParseDuration(os.Getenv("SCALE"))
	if err != nil {
		t.Skip("SCALE is not set")
	}
	return length
}

// NewScaleSale returns a sale on a server with a buffer pool for all orders.
func NewScaleSale(t *testing.T) *Sale {
	t.Helper()
	server, err := lab.StartMySQL(labtest.Lab(t), "--innodb-buffer-pool-size=2G", "--innodb-flush-log-at-trx-commit=0",
		"--sync-binlog=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	dsn := labtest.EmptyDatabase(t, server)
	labtest.Migrate(t, labtest.Open(t, dsn))
	return NewSaleOn(t, dsn)
}
