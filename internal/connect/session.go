package connect

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A variable is a session variable and its value as SQL.
type variable struct{ name, value string }

// characterSets are the variables of SET NAMES. The driver interpolates arguments byte
// by byte: in GBK and its like, the last byte of a character can be the backslash of an
// escape, and the text of an argument becomes SQL.
var characterSets = []variable{
	{"character_set_client", "utf8mb4"},
	{"character_set_connection", "utf8mb4"},
	{"character_set_results", "utf8mb4"},
}

// sessionVariables are set on every connection, because an administrator may have
// given them other defaults for other clients of the server.
var sessionVariables = []variable{
	{"autocommit", "1"},
	{"completion_type", "'NO_CHAIN'"}, // otherwise COMMIT begins the next transaction, or closes the connection
	{"lc_messages", "'en_US'"},        // package transaction reads a message
	{"sql_big_selects", "1"},
	{"sql_mode", "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"},
	{"sql_safe_updates", "0"},
	{"sql_select_limit", "9223372036854775807"},
	{"time_zone", "'+00:00'"},
	{"unique_checks", "1"}, // otherwise InnoDB may insert duplicates into a unique key
}

// transactionVariables are set by SET TRANSACTION.
var transactionVariables = []variable{
	{"transaction_isolation", "'READ-COMMITTED'"},
	{"transaction_read_only", "0"},
}

// A comment that begins with /*!80000 is a part of the statement for MySQL, one with /*M!
// for MariaDB.
const (
	// The deadline is the context's, and a migration may need another algorithm.
	noLimit        = "/*!80000 max_execution_time = 0 */ /*M! max_statement_time = 0, alter_algorithm = 'DEFAULT' */"
	setTransaction = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE"
)

// setVariables sets the session variables in one round trip. If a server or proxy
// refuses some of them, verifyVariables decides whether it is used without those.
func setVariables(ctx context.Context, conn driver.ExecerContext) error {
	all := []string{"NAMES utf8mb4", "SESSION " + noLimit}
	for _, v := range sessionVariables {
		all = append(all, "SESSION "+v.name+" = "+v.value)
	}
	_, err := conn.ExecContext(ctx, "SET "+strings.Join(all, ", "), nil)
	if refused := err; isRefused(err) {
		for _, one := range all {
			if _, err = conn.ExecContext(ctx, "SET "+one, nil); err != nil && !isRefused(err) {
				return refused // a failing init_connect ends the connection: this says so
			}
		}
		err = nil
	}
	for _, statement := range []string{"ROLLBACK", setTransaction} { // an init_connect may begin a transaction
		if err == nil {
			_, err = conn.ExecContext(ctx, statement, nil)
		}
	}
	return err
}

// errSession says that statements would not mean on a connection what they say.
var errSession = errors.New("the server or a proxy gives connections another session than the service sets")

// verifyVariables returns the server's version, and errSession if a variable is not what it was set to, by an
// account's or a proxy's rule, or if text does not arrive as it was sent. A proxy that
// cannot tell a variable is believed, but not about the character sets.
func verifyVariables(ctx context.Context, conn driver.QueryerContext) (version string, err error) {
	others := slices.Concat(sessionVariables, transactionVariables, []variable{{"sql_log_bin", "1"}})
	version, err = verify(ctx, conn, slices.Concat(characterSets, others))
	if !isRefused(err) {
		return version, err
	}
	if version, err = verify(ctx, conn, characterSets); err != nil {
		return version, err
	}
	for _, v := range others {
		if _, err := verify(ctx, conn, []variable{v}); err != nil && !isRefused(err) {
			return version, err
		}
	}
	return version, nil
}

// sentText has what escaping and character sets change.
const sentText = `'\"減減'\減😀`

// verify compares variables, and a text that makes a round trip, in one query. It returns
// the server's version.
func verify(ctx context.Context, conn driver.QueryerContext, variables []variable) (version string, err error) {
	q := "SELECT ?, @@version"
	for _, v := range variables {
		q += ", " + v.expression()
	}
	rows, err := conn.QueryContext(ctx, q, []driver.NamedValue{{Ordinal: 1, Value: sentText}})
	if err != nil {
		return "", err
	}
	row := make([]driver.Value, 2+len(variables))
	if err := errors.Join(rows.Next(row), rows.Close()); err != nil {
		return "", err
	}
	if text(row[0]) != sentText {
		return "", fmt.Errorf("%w: a text arrives as %q", errSession, text(row[0]))
	}
	for i, v := range variables {
		if got, want := text(row[2+i]), strings.Trim(v.value, "'"); got != want {
			return "", fmt.Errorf("%w: %s is %q instead of %q", errSession, v.name, got, want)
		}
	}
	return text(row[1]), nil
}

// expression reads v. MariaDB 10 names the transaction's variables differently.
func (v variable) expression() string {
	if name, ok := strings.CutPrefix(v.name, "transaction_"); ok {
		return fmt.Sprintf("/*!80000 @@SESSION.transaction_%[1]s */ /*M! @@SESSION.tx_%[1]s */", name)
	}
	return "@@SESSION." + v.name
}

// text returns a value as a client of MySQL would print it.
func text(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
