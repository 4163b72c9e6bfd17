package transaction

import (
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// MySQL's error numbers that a transaction has to expect.
const (
	NodeNotReady     = 1047 // Galera: the node does not belong to the majority, or is joining it
	SyntaxError      = 1064
	DuplicateKey     = 1062
	LockWaitTimeout  = 1205
	Deadlock         = 1213 // Galera, also as the reply to COMMIT: another node's transaction conflicts
	NotSupported     = 1235
	OutOfRange       = 1690
	RolledBack       = 3101 // MySQL Group Replication: the same
	NoMultiStatement = 8130 // TiDB
)

// IsRefusal reports whether err proves that the server does not commit the
// statement's transaction, now or later. The driver returns ErrBadConn only if
// it has sent nothing, or if the server is read-only.
//
// Other errors of the server prove nothing: a proxy also reports that it has
// lost its connection to the server (2013, 2006, 1105, …), which may still
// execute the statement. A Galera node that is cut off from the others while it
// commits (1180) cannot know whether they have the transaction.
func IsRefusal(err error) bool {
	return IsConflict(err) || HasNumber(err, DuplicateKey, OutOfRange, SyntaxError, NotSupported, NoMultiStatement)
}

// IsConflict reports whether err is a refusal that a new attempt may avoid. An
// unknown commit is none, whatever error reading it back has had.
func IsConflict(err error) bool {
	return !errors.Is(err, ErrUnknown) && (errors.Is(err, driver.ErrBadConn) || HasNumber(err, Deadlock, LockWaitTimeout, RolledBack, NodeNotReady))
}

// HasNumber reports whether err is a MySQL error with one of numbers.
func HasNumber(err error, numbers ...uint16) bool {
	serverErr, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(numbers, serverErr.Number)
}
