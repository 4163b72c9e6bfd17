package connect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"

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
	return transaction.IsUnavailable(err) || slices.ContainsFunc(redisRefusals, func(prefix string) bool {
		return redis.HasErrorPrefix(err, prefix)
	})
}

// redisRefusals begin the replies with which Redis refuses calls of this user, whatever
// their keys hold, until something else has happened.
var redisRefusals = []string{
	"LOADING ", "MASTERDOWN ", "CLUSTERDOWN ", "TRYAGAIN ", "BUSY ", // with somebody's script
	"READONLY ", "NOREPLICAS ", "OOM ", "MISCONF ", "max number of clients",
	"NOAUTH ", "WRONGPASS ", "NOPERM ", "DENIED ", // protected-mode
	"The user executing the script", "ACL failure in script", // without a right; the second since Redis 7.2
	"unknown command", "Unknown Redis command", "Unknown command", // renamed; in a script of Redis, of Valkey
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
