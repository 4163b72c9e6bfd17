package connect

import (
	"context"
	"database/sql/driver"
	"strings"
)

// sessionVariables are set on every connection, because an administrator may have
// given them other defaults for other clients of the server. A comment that begins
// with /*!80000 is a part of the statement for MySQL, one with /*M! for MariaDB.
var sessionVariables = []string{
	`autocommit = 1`,
	`completion_type = 'NO_CHAIN'`, // otherwise COMMIT begins the next transaction, or closes the connection
	`sql_select_limit = 18446744073709551615`,
	`sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'`,
	`sql_safe_updates = 0`,
	`unique_checks = 1`, // otherwise InnoDB may insert duplicates into a unique key
	`/*!80000 max_execution_time = 0 */` + // the deadline is the context's
		`/*M! max_statement_time = 0 */`,
}

// setVariables sets the session variables in one round trip. If a server or proxy
// refuses some of them, it is used without those.
func setVariables(ctx context.Context, conn driver.ExecerContext) error {
	_, err := conn.ExecContext(ctx, `SET SESSION `+strings.Join(sessionVariables, `, SESSION `), nil)
	if !isRefused(err) {
		return err
	}
	for _, variable := range sessionVariables {
		if _, err := conn.ExecContext(ctx, `SET SESSION `+variable, nil); err != nil && !isRefused(err) {
			return err
		}
	}
	return nil
}
