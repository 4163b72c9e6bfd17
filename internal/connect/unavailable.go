package connect

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"regexp"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/transaction"
)

// IsUnavailable reports whether err says that MySQL or Redis could not be
// reached, did not reply in time, or refused the call because it is starting,
// stopping, overloaded, or not able to store anything, or because it does not give
// the service's account a connection or a right, or another program has the key, for
// whatever reason. The call may succeed later. Whether it took effect is unknown.
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
	_, network := errors.AsType[net.Error](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, reply := errors.AsType[redis.Error](err) // whatever it says: the scripts and their keys are the service's own
	return network || certificate || reply && !errors.Is(err, redis.Nil) || transaction.IsUnavailable(err)
}

// connectionID is in MySQL's words of a failing init_connect.
var connectionID = regexp.MustCompile(` connection \d+`)

// Cause returns the words in which a server refused a call, without what was called and
// by which connection, or err's own words if none did.
func Cause(err error) string {
	if refusal, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return connectionID.ReplaceAllString(refusal.Error(), " connection")
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
