package transaction_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/transaction"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer) }

// proofs has each number of the table by what it proves about the transaction whose COMMIT
// it replies to. Of 1290 and 1836 the driver makes ErrBadConn: another connection may lead
// to the primary.
var proofs = map[string][]uint16{
	"nothing": {
		1040, 1049, 1050, 1053, 1060, 1146, 1180, 1203, 1226, 1317, 1927, 3572,
	},
	"refused": {
		1044, 1062, 1064, 1142, 1143, 1227, 1235, 1364, 1366, 1526, 1665, 1690, 3819, 8130,
	},
	"conflict": {
		1047, 1205, 1213, 1290, 1836, 3101,
	},
}

// The server, or a proxy before it, replies to COMMIT with each number.
func TestEveryNumberProvesWhatTheTableSays(t *testing.T) {
	t.Parallel()
	want := map[uint16]string{}
	for proof, numbers := range proofs {
		for _, number := range numbers {
			want[number] = proof
		}
	}
	if missing := cmp.Diff(slices.Sorted(maps.Keys(want)), transaction.Numbers()); missing != "" {
		t.Fatal(missing)
	}
	for number, want := range want {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.proxy.Reply("\x03COMMIT", faultproxy.MySQLError(number, "refused"))
			err := s.add(1)
			if got := proof(err); got != want || err == nil {
				t.Errorf("%v proves %s, want %s", err, got, want)
			}
			if again := transaction.Retry(t.Context(), func() error { return s.add(2) }); again != nil {
				t.Errorf("the next transaction: %v", again)
			}
		})
	}
}

func proof(err error) string {
	switch {
	case errors.Is(err, transaction.ErrUnknown):
		return "nothing"
	case transaction.IsConflict(err):
		return "conflict"
	case transaction.IsRefusal(err):
		return "refused"
	}
	return "neither"
}

// A transaction whose COMMIT is refused by a conflict is executed again, one whose
// outcome is unknown is not: it would take effect twice.
func TestOnlyAConflictIsTriedAgain(t *testing.T) {
	t.Parallel()
	type reply struct {
		number uint16
		text   string
	}
	for r, want := range map[reply]int{
		{transaction.Deadlock, ""}: 2, {3101, ""}: 2, {1047, ""}: 2,
		// MySQL Group Replication, and Galera
		{transaction.ErrorDuringCommit, "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT"}: 2,
		{transaction.ErrorDuringCommit, "Got error 6 \"No such device or address\" during COMMIT"}:          1,
		{1105, ""}: 1, {2013, ""}: 1, {9001, ""}: 1, {8130, ""}: 1,
	} {
		t.Run(fmt.Sprint(r.number, r.text), func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.proxy.Reply("\x03COMMIT", faultproxy.MySQLError(r.number, r.text))
			attempts := 0
			err := transaction.Retry(t.Context(), func() error {
				attempts++
				return s.add(1)
			})
			if attempts != want || (err == nil) != (want == 2) {
				t.Errorf("%d attempts, %v; want %d", attempts, err, want)
			}
		})
	}
}

func TestConflictWhileReadingBackIsNoRefusal(t *testing.T) {
	t.Parallel()
	err := errors.Join(transaction.ErrUnknown, &mysql.MySQLError{Number: transaction.Deadlock}, driver.ErrBadConn)
	if transaction.IsConflict(err) || transaction.IsRefusal(err) {
		t.Error("an unknown commit is taken for one that can be tried again")
	}
}

func TestFailedWorkIsRolledBack(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.db.SetMaxOpenConns(1)
	failure := errors.New("work failed")
	err := transaction.Run(t.Context(), s.db, func(conn *sqlx.Conn) error {
		if _, err := conn.ExecContext(t.Context(), `INSERT INTO numbers VALUES (1)`); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) || errors.Is(err, transaction.ErrUnknown) {
		t.Errorf("got %v, want the error of the work", err)
	}
	if err := s.add(2); err != nil { // START TRANSACTION would commit what is still open
		t.Fatal(err)
	}
	if n := s.count(); n != 1 {
		t.Errorf("%d rows, want the one of the next transaction", n)
	}
}

func TestLostReplyOfACommitIsUnknown(t *testing.T) {
	t.Parallel()
	for fault, rows := range map[faultproxy.Fault]int{faultproxy.LoseReply: 1, faultproxy.LoseRequest: 0} {
		s := newServer(t)
		s.proxy.Inject(fault, "\x03COMMIT", 1)
		check.ErrorIs(t, s.add(1), transaction.ErrUnknown)
		check.Eventually(t, "the server has ended the transaction", func() bool { return s.count() == rows })
	}
}

// A server is a database with a table behind a proxy.
type server struct {
	t          *testing.T
	db, direct *sqlx.DB
	proxy      *faultproxy.Proxy
}

func newServer(t *testing.T) *server {
	t.Helper()
	dsn := labtest.EmptyDatabase(t, labtest.SharedMySQL(t))
	direct := labtest.Open(t, dsn)
	direct.MustExec(`CREATE TABLE numbers (n INT PRIMARY KEY)`)
	proxy, through := labtest.ProxiedMySQL(t, dsn)
	return &server{t, labtest.Open(t, through, connect.ShortTransactions), direct, proxy}
}

// add inserts a number in a transaction. It may be there already: the server has
// executed a COMMIT to which the proxy has replied.
func (s *server) add(n int) error {
	return transaction.Run(s.t.Context(), s.db, func(conn *sqlx.Conn) error {
		_, err := conn.ExecContext(s.t.Context(), `INSERT INTO numbers VALUES (?) ON DUPLICATE KEY UPDATE n = n`, n)
		return err
	})
}

func (s *server) count() (n int) {
	s.t.Helper()
	if err := s.direct.GetContext(s.t.Context(), &n, `SELECT COUNT(*) FROM numbers`); err != nil {
		s.t.Fatal(err)
	}
	return n
}
