package transaction

import (
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// The numbers of MySQL's errors that packages tell apart.
const (
	TooManyConnections = 1040
	DatabaseDenied     = 1044 // the account has no right to the database, nor to one of its tables
	TableExists        = 1050
	DuplicateColumn    = 1060
	DuplicateKey       = 1062
	TableDenied        = 1142
	ColumnDenied       = 1143
	NoSuchTable        = 1146
	ErrorDuringCommit  = 1180 // Galera: the node was cut off from the others while it committed; see forcedAbort
	TooManyOfUser      = 1203 // max_user_connections of the server
	LockWaitTimeout    = 1205
	Deadlock           = 1213 // Galera, also as the reply to COMMIT: another node's transaction conflicts
	UserLimit          = 1226 // of the account: connections, or statements in an hour
	PrivilegeDenied    = 1227
	StatementLog       = 1665 // binlog_format is STATEMENT, which READ COMMITTED excludes
	LockNotAvailable   = 3572 // MySQL; MariaDB says LockWaitTimeout
)

// A meaning is what an error says of the transaction whose statement it replies to.
type meaning struct {
	commit      outcome
	unavailable bool // the server could not serve the call now, and may later
}

// An outcome is whether the server commits the transaction, now or later.
type outcome int

const (
	unknown  outcome = iota // it may
	refused                 // it does not
	conflict                // it does not, and a new attempt may succeed
	foreign                 // it does not: the row breaks a rule that an administrator has added
)

// meanings is the one table of numbers. Those with which a server refuses a new
// connection need no row: package connect knows that nothing was sent. A number that is
// not in it says what its state says (isOfData, general), or proves nothing. Neither do
// those by which a proxy reports that it has lost its connection to the server: the server
// may still execute the statement.
var meanings = map[uint16]meaning{
	TooManyConnections: {unknown, true},
	DatabaseDenied:     {refused, true},
	1047:               {conflict, true}, // Galera: the node does not belong to the majority, or is joining it
	1049:               {unknown, true},  // no such database: it is being restored
	TableExists:        {unknown, false}, // CREATE TABLE commits by itself: see package migrations
	1053:               {unknown, true},  // the server is shutting down
	DuplicateColumn:    {unknown, false}, // ALTER TABLE commits by itself: see package migrations
	DuplicateKey:       {refused, false},
	1064:               {refused, false}, // syntax error
	TableDenied:        {refused, true},
	ColumnDenied:       {refused, true},
	NoSuchTable:        {unknown, true}, // it is being restored, or exchanged
	ErrorDuringCommit:  {unknown, false},
	TooManyOfUser:      {unknown, true},
	LockWaitTimeout:    {conflict, true},
	Deadlock:           {conflict, true},
	UserLimit:          {unknown, true},
	PrivilegeDenied:    {refused, true},
	1235:               {refused, false}, // not supported
	1290:               {unknown, true},  // read-only; ErrBadConn of the driver where the connection can be replaced
	1317:               {unknown, true},  // query interrupted
	1364:               {foreign, true},  // a column has no default
	1366:               {foreign, true},  // the column's character set lacks a character
	1526:               {foreign, true},  // no partition for the row
	StatementLog:       {refused, true},
	1690:               {refused, false},  // out of range
	1836:               {unknown, true},   // read-only mode
	1927:               {unknown, true},   // MariaDB: connection killed
	3101:               {conflict, false}, // MySQL Group Replication: another node's transaction conflicts
	LockNotAvailable:   {unknown, false},  // replies to NOWAIT
	3819:               {foreign, true},   // MySQL: a CHECK
	8130:               {refused, false},  // TiDB: several statements in one message
}

// IsRefusal reports whether err proves that the server does not commit the
// statement's transaction, now or later. The driver returns ErrBadConn only if
// it has sent nothing, or if the server is read-only.
func IsRefusal(err error) bool {
	return IsConflict(err) || meaningOf(err).commit == refused || IsOfRow(err)
}

// IsOfRow reports whether err is a refusal of a statement because of one of its rows: a
// foreign key, a CHECK or a column that an administrator has added does not allow it.
// Other rows may be written, also in the same transaction.
func IsOfRow(err error) bool { return meaningOf(err).commit == foreign }

// IsConflict reports whether err is a refusal that a new attempt may avoid. An
// unknown commit is none, whatever error reading it back has had.
func IsConflict(err error) bool {
	return !errors.Is(err, ErrUnknown) && (errors.Is(err, driver.ErrBadConn) || meaningOf(err).commit == conflict)
}

// IsUnavailable reports whether err is a reply of the server, or of a proxy, that
// says that it could not serve the call now.
func IsUnavailable(err error) bool { return meaningOf(err).unavailable }

// forcedAbort is in the text of ErrorDuringCommit if InnoDB had rolled the transaction
// back before COMMIT, in favour of one from another member of a MySQL replication
// group: "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT".
const forcedAbort = "error 149 "

func meaningOf(err error) meaning {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	switch {
	case !ok:
		return meaning{}
	case e.Number == ErrorDuringCommit && strings.Contains(e.Message, forcedAbort):
		return meanings[Deadlock]
	}
	known, found := meanings[e.Number]
	switch {
	case found:
		return known
	case isOfData(e.SQLState):
		return meaning{foreign, true}
	}
	return meaning{unknown, string(e.SQLState[:2]) == general}
}

// general is the class of errors that the SQL standard does not know: a full disk or memory,
// a timeout, a table without its file, a proxy without its server.
const general = "HY"

// isOfData reports whether a state of the SQL standard is of a class that tells of a row's
// data: an exception, a constraint, or the SIGNAL of a trigger.
func isOfData(state [5]byte) bool {
	return slices.Contains([]string{"22", "23", "45"}, string(state[:2]))
}

// HasNumber reports whether err is a MySQL error with one of numbers.
func HasNumber(err error, numbers ...uint16) bool {
	serverErr, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(numbers, serverErr.Number)
}
