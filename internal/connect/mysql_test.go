package connect_test

import (
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
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
		check.NoError(t, err)
		if n, _ := result.RowsAffected(); n != want {
			t.Errorf("try %d: %d rows affected, want %d", try, n, want)
		}
	}
}

func TestBadDSNIsAnErrorWithoutThePassword(t *testing.T) {
	t.Parallel()
	const dsn = "root:hunter2@tcp(db)/sale"
	for bad, want := range map[string]string{
		"root:hunter2@nowhere": "not a MySQL DSN", "root:hunter2@tcp(db)/": "no database",
		dsn + "?charset=gbk":                        "charset",
		dsn + "?charset=utf8,utf8mb4":               "charset",
		dsn + "?charset=utf8mb3":                    "charset",
		dsn + "?collation=latin1_bin":               "collation",
		dsn + "?columnsWithAlias=true":              "columnsWithAlias",
		dsn + "?allowAllFiles=1":                    "allowAllFiles",
		dsn + "?allowOldPasswords=True":             "allowOldPasswords",
		dsn + "?strict=true":                        "strict",
		dsn + "?serverPubKey=unknown":               "serverPubKey",
		dsn + "?timeout=2":                          "timeout",
		dsn + "?useSSL=false":                       "useSSL",
		dsn + "?Charset=gbk":                        "Charset",
		dsn + "?names=gbk":                          "names",
		dsn + "?timestamp=1":                        "timestamp",
		dsn + "?a=1&sql_log_bin=0":                  "a",
		dsn + "?sql_log_bin=0":                      "sql_log_bin",
		dsn + "?sql_mode=%27ANSI%27":                "sql_mode",
		dsn + "?time_zone=%27%2B08:00%27":           "time_zone",
		dsn + "?autocommit=0":                       "autocommit",
		dsn + "?tx_isolation=%27REPEATABLE-READ%27": "tx_isolation",
		dsn + "?@@session.Character_Set_Client=gbk": "@@session.Character_Set_Client",
		dsn + "?global max_connections=1":           "global max_connections",
		dsn + "?allowCleartextPasswords=true":       "allowCleartextPasswords",
		dsn + "?loc=Asia%2FNowhere&parseTime=true":  "loc",
	} {
		if _, err := connect.MySQL(bad, 1); err == nil {
			t.Errorf("%s is accepted", bad)
		} else if strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want no password and %s", bad, err, want)
		}
	}
}

// Parameters that change nothing for the service, as other programs' DSNs have them.
func TestUsualParametersOfADSNAreAccepted(t *testing.T) {
	t.Parallel()
	for _, parameters := range []string{
		"charset=utf8mb4&parseTime=True&loc=Local", "charset=utf8mb4,utf8&collation=utf8mb4_unicode_ci",
		"parseTime=false&interpolateParams=false&multiStatements=true&rejectReadOnly=false&clientFoundRows=true",
		"columnsWithAlias=false&timeTruncate=24h&maxAllowedPacket=100&checkConnLiveness=false&compress=true",
		"time_zone=%27%2B00:00%27&autocommit=1&innodb_lock_wait_timeout=9",
		"allowNativePasswords=true&connectionAttributes=program:sale&timeout=9s&readTimeout=9s&writeTimeout=9s",
	} {
		dsn, _, _ := strings.Cut(labtest.DSN(t), "?")
		db := labtest.Open(t, dsn+"?"+parameters)
		at := time.Date(2030, 1, 2, 3, 4, 5, 6e6, time.UTC)
		db.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (1, 1, 1, ?)`, at)
		var got time.Time
		if err := db.Get(&got, `SELECT o.created_at FROM coupon_orders o WHERE o.id = ?`, 1); err != nil || !got.Equal(at) {
			t.Errorf("%s: %s, %v; want %s", parameters, got, err, at)
		}
		if _, err := db.Exec(`SELECT 1; SELECT 2`); err == nil {
			t.Errorf("%s: two statements are sent as one", parameters)
		}
	}
}
