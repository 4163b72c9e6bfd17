package connect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
)

// IsUnavailable reports whether err says that MySQL or Redis could not be
// reached, did not reply in time, or refused the call because it is starting,
// stopping, overloaded, or not able to store anything, or because Redis did not
// accept the service's user or password. The call may succeed later. Whether it
// took effect is unknown.
func IsUnavailable(err error) bool {
	for _, target := range []error{
		context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		driver.ErrBadConn, sql.ErrConnDone, mysql.ErrInvalidConn, mysql.ErrMalformPkt,
		redis.ErrClosed, redis.ErrPoolTimeout, redis.ErrPoolExhausted,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return unavailableNumbers[e.Number]
	}
	return redis.IsLoadingError(err) || redis.IsReadOnlyError(err) || redis.IsMasterDownError(err) || redis.IsMaxClientsError(err) ||
		redis.IsClusterDownError(err) || redis.IsTryAgainError(err) || redis.IsNoReplicasError(err) || redis.IsOOMError(err) ||
		redis.HasErrorPrefix(err, "MISCONF") || redis.IsAuthError(err) || redis.IsPermissionError(err)
}

var unavailableNumbers = map[uint16]bool{
	1040: true, // too many connections
	1047: true, // Galera: the node is not ready
	1053: true, // shutdown in progress
	1105: true, // vtgate: also a lost connection to the server
	1205: true, // lock wait timeout
	1213: true, // deadlock
	1290: true, // running read-only
	1317: true, // query interrupted
	1927: true, // MariaDB: connection was killed
	2006: true, // a proxy has lost the server
	2013: true, // a proxy has lost the server
	3024: true, // MySQL: maximum statement time exceeded
	4031: true, // MySQL: the connection was idle for too long
}
