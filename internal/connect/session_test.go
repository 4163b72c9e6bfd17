package connect_test

import (
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestSessionsDoNotHaveTheServersDefaults(t *testing.T) {
	t.Parallel()
	dsn := labtest.EmptyDatabase(t, labtest.MySQL(t))
	admin := labtest.Open(t, dsn)
	for _, variable := range []string{"autocommit = 0", "completion_type = 'CHAIN'", "sql_select_limit = 1",
		"sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'", "sql_safe_updates = 1", "unique_checks = 0",
		"time_zone = '+08:00'", "lc_messages = 'de_DE'", "max_join_size = 1",
		"TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY",
		"/*!80000 max_execution_time = 1 */ /*M! alter_algorithm = 'INSTANT', GLOBAL max_statement_time = 0.001 */"} {
		admin.MustExec("SET GLOBAL " + variable)
	}
	for query, want := range map[string]string{
		"SELECT @@autocommit": "1", "SELECT @@completion_type": "NO_CHAIN",
		"SELECT @@sql_select_limit": "9223372036854775807", "SELECT @@sql_safe_updates": "0",
		"SELECT @@sql_mode": "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION", "SELECT @@unique_checks": "1",
		"SELECT @@time_zone": "+00:00", "SELECT @@lc_messages": "en_US", "SELECT @@sql_big_selects": "1",
		"SELECT /*!80000 @@transaction_isolation */ /*M! @@tx_isolation */":                    "READ-COMMITTED",
		"SELECT /*!80000 @@transaction_read_only */ /*M! @@tx_read_only */":                    "0",
		"SELECT /*!80000 'DEFAULT' */ /*M! @@alter_algorithm */":                               "DEFAULT",
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
	proxy.Refuse("sql_safe_updates", unknownVariable)
	var mode string
	check.NoError(t, db.GetContext(t.Context(), &mode, "SELECT @@SESSION.sql_mode"))
	if mode != "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION" {
		t.Errorf("sql_mode is %s", mode)
	}
}

// What the session must be is read back: without it the connection is not used.
func TestConnectionWithAnotherCharacterSetIsUnavailable(t *testing.T) {
	t.Parallel()
	db, proxy := proxied(t, stranger(t, labtest.MySQL(t, "--init-connect=SET NAMES gbk")))
	proxy.Refuse("NAMES", unknownVariable)
	proxy.Refuse("NAMES", unknownVariable)
	err := db.PingContext(t.Context())
	if err == nil || !strings.Contains(err.Error(), "character_set_client") || !connect.IsUnavailable(err) {
		t.Errorf("got %v, want an unavailable server and the character set", err)
	}
	if err := db.PingContext(t.Context()); err != nil {
		t.Errorf("a server that sets it: %v", err)
	}
}

// The names of coupons are such texts. In GBK the second begins a new column.
func TestTextArrivesAsItWasSentWhateverTheServersCharacterSet(t *testing.T) {
	t.Parallel()
	servers := map[string][]string{
		"init_connect": {"--init-connect=SET NAMES gbk"},
		"no handshake": {"--loose-skip-character-set-client-handshake", "--character-set-server=gbk"},
		"latin1":       {"--init-connect=SET NAMES latin1", "--character-set-server=latin1"},
		"no escapes":   {"--sql-mode=NO_BACKSLASH_ESCAPES,ANSI"},
	}
	for name, args := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := labtest.Open(t, stranger(t, labtest.MySQL(t, args...)))
			db.MustExec(`CREATE TABLE names (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(100), stock INT NOT NULL)
				DEFAULT CHARSET = utf8mb4`)
			for _, want := range []string{`plain`, `减',20200101,20900101,1,3,20200101)#`, `減\`, `\'"`, `😀 é`} {
				db.MustExec(`INSERT INTO names (name, stock) VALUES (?, ?)`, want, 7)
				var got string
				if err := db.Get(&got, `SELECT name FROM names WHERE name = ? AND stock = 7`, want); err != nil || got != want {
					t.Errorf("%q is stored as %q, %v", want, got, err)
				}
			}
		})
	}
}

func TestInitConnectLeavesNoTransactionAndIsNamedIfItFails(t *testing.T) {
	t.Parallel()
	server := labtest.MySQL(t, "--init-connect=START TRANSACTION")
	dsn := stranger(t, server)
	admin := labtest.Open(t, server.DSN("sale"))
	admin.MustExec(`CREATE TABLE written (id INT PRIMARY KEY) ENGINE = InnoDB`)
	labtest.Open(t, dsn).MustExec(`INSERT INTO written VALUES (1)`)
	var rows int
	if err := admin.Get(&rows, `SELECT COUNT(*) FROM written`); err != nil || rows != 1 {
		t.Errorf("%d rows are committed, %v", rows, err)
	}
	admin.MustExec(`SET GLOBAL init_connect = 'INSERT INTO audit.logins VALUES (1)'`)
	db := labtest.Open(t, dsn)
	err := db.Ping()
	if err == nil || !strings.Contains(err.Error(), "init_connect") {
		t.Errorf("got %v, want an error that names init_connect", err)
	}
	if again := db.Ping(); again == nil || connect.Cause(again) != connect.Cause(err) { // by which logs are kept short
		t.Errorf("got %v after %v, want the same cause", again, err)
	}
}

// stranger returns the DSN of an account that init_connect applies to, for a database
// whose own character set is latin1.
func stranger(t *testing.T, server *lab.MySQL) string {
	t.Helper()
	admin := labtest.Open(t, server.DSN("mysql"))
	admin.MustExec(`CREATE DATABASE sale CHARACTER SET latin1`)
	admin.MustExec(`CREATE USER stranger`)
	admin.MustExec(`GRANT ALL ON sale.* TO stranger`)
	return strings.Replace(server.DSN("sale"), "root@", "stranger@", 1)
}
