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

	"example.com/flashsale/internal/transaction"
)

// IsUnavailable reports whether err says that MySQL or Redis could not be
// reached, did not reply in time, or refused the call because it is starting,
// stopping, overloaded, or not able to store anything, or because it does not give
// the service's account a connection or a right, for whatever reason. The call may
// succeed later. Whether it took effect is unknown.
func IsUnavailable(err error) bool {
	for _, target := range []error{
		context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		driver.ErrBadConn, sql.ErrConnDone, mysql.ErrInvalidConn, mysql.ErrMalformPkt, errNotConnected,
		redis.ErrClosed, redis.ErrPoolTimeout, redis.ErrPoolExhausted,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return transaction.IsUnavailable(err) || redis.IsLoadingError(err) || redis.IsReadOnlyError(err) ||
		redis.IsMasterDownError(err) || redis.IsMaxClientsError(err) ||
		redis.IsClusterDownError(err) || redis.IsTryAgainError(err) || redis.IsNoReplicasError(err) ||
		redis.IsOOMError(err) ||
		redis.HasErrorPrefix(err, "MISCONF") || redis.IsAuthError(err) || redis.IsPermissionError(err) ||
		redis.HasErrorPrefix(err, "The user executing the script") || // without the right to a command or key
		redis.HasErrorPrefix(err, "ACL failure in script") // the same, since Redis 7.2
}

// Cause returns the words in which a server refused a call, without what was called, or
// err's own words if none did.
func Cause(err error) string {
	if refusal, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return refusal.Error()
	}
	if refusal, ok := errors.AsType[redis.Error](err); ok {
		return refusal.Error()
	}
	if failure, ok := errors.AsType[*net.OpError](err); ok { // its own words have the port of the connection
		return failure.Op + ": " + failure.Err.Error()
	}
	if failure, ok := errors.AsType[net.Error](err); ok {
		return failure.Error()
	}
	return err.Error()
}
