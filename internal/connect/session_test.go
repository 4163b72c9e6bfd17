package connect_test

import (
	"testing"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab/labtest"
)

func TestSessionsDoNotHaveTheServersDefaults(t *testing.T) {
	t.Parallel()
	dsn := labtest.EmptyDatabase(t, labtest.MySQL(t))
	admin := labtest.Open(t, dsn)
	for _, variable := range []string{"autocommit = 0", "completion_type = 'CHAIN'", "sql_select_limit = 1",
		"sql_mode = 'ANSI'", "sql_safe_updates = 1", "unique_checks = 0",
		"/*!80000 max_execution_time = 1 */ /*M! max_statement_time = 0.001 */"} {
		admin.MustExec("SET GLOBAL " + variable)
	}
	for query, want := range map[string]string{
		"SELECT @@autocommit": "1", "SELECT @@completion_type": "NO_CHAIN",
		"SELECT @@sql_select_limit": "18446744073709551615", "SELECT @@sql_safe_updates": "0",
		"SELECT @@sql_mode": "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION", "SELECT @@unique_checks": "1",
		"SELECT /*!80000 @@max_execution_time */ /*M! CAST(@@max_statement_time AS SIGNED) */": "0",
	} {
		var got string
		if err := labtest.Open(t, dsn).GetContext(t.Context(), &got, query); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", query, got, err, want)
		}
	}
}

// A proxy may know some of the variables only.
func TestServerThatRefusesAVariableIsUsedWithoutIt(t *testing.T) {
	t.Parallel()
	db, proxy := proxied(t, labtest.EmptyDatabase(t, labtest.SharedMySQL(t)), connect.ShortTransactions)
	proxy.Refuse("sql_safe_updates", unknownVariable())
	var mode string
	if err := db.GetContext(t.Context(), &mode, "SELECT @@SESSION.sql_mode"); err != nil {
		t.Fatal(err)
	}
	if mode != "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION" {
		t.Errorf("sql_mode is %s", mode)
	}
}
