package transaction

import (
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// The numbers of MySQL's errors that this service has to expect.
const (
	TooManyConnections = 1040
	DatabaseDenied     = 1044 // the account has no right to the database, nor to one of its tables
	NodeNotReady       = 1047 // Galera: the node does not belong to the majority, or is joining it
	TableExists        = 1050
	ShuttingDown       = 1053
	DuplicateColumn    = 1060
	DuplicateKey       = 1062
	SyntaxError        = 1064
	UnknownError       = 1105 // vtgate: also a lost connection to the server
	TableFull          = 1114 // of the disk, too
	HostBlocked        = 1129 // too many failed connections
	TableDenied        = 1142
	ColumnDenied       = 1143
	NoSuchTable        = 1146
	ErrorDuringCommit  = 1180 // Galera: the node was cut off from the others while it committed; see forcedAbort
	TooManyOfUser      = 1203 // max_user_connections of the server
	LockWaitTimeout    = 1205
	Deadlock           = 1213 // Galera, also as the reply to COMMIT: another node's transaction conflicts
	UserLimit          = 1226 // of the account: connections, or statements in an hour
	PrivilegeDenied    = 1227
	NotSupported       = 1235
	ReadOnly           = 1290
	QueryInterrupted   = 1317
	NoDefault          = 1364
	WrongCharacter     = 1366 // the column's character set lacks it
	IsReferenced       = 1451 // by a row of another table
	NoReference        = 1452 // to a row of another table
	NoPartition        = 1526
	NotLoggable        = 1665 // binlog_format is STATEMENT, which READ COMMITTED excludes
	OutOfRange         = 1690
	PasswordExpired    = 1820
	ReadOnlyMode       = 1836
	ConnectionKilled   = 1927 // MariaDB
	ServerGone         = 2006 // a proxy has lost the server
	ServerLost         = 2013 // a proxy has lost the server
	StatementTimeout   = 3024 // MySQL
	OfflineMode        = 3032 // MySQL
	RolledBack         = 3101 // MySQL Group Replication: another node's transaction conflicts
	LockNotAvailable   = 3572 // MySQL; MariaDB says LockWaitTimeout
	NotAvailable       = 3168 // MySQL
	SessionKilled      = 3169 // MySQL
	CheckViolated      = 3819 // MySQL
	ConstraintFailed   = 4025 // MariaDB: a CHECK
	IdleTimeout        = 4031 // MySQL: the connection was idle for too long
	NoMultiStatement   = 8130 // TiDB
	NoServer           = 9001 // ProxySQL has waited for a server for too long
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
// connection need no row: package connect knows that nothing was sent. A number that is not in it proves nothing,
// and neither do those by which a proxy reports that it has lost its connection to
// the server: the server may still execute the statement.
var meanings = map[uint16]meaning{
	TooManyConnections: {unknown, true},
	DatabaseDenied:     {refused, true},
	NodeNotReady:       {conflict, true},
	TableExists:        {unknown, false}, // CREATE TABLE commits by itself: see package migrations
	ShuttingDown:       {unknown, true},
	DuplicateColumn:    {unknown, false}, // ALTER TABLE commits by itself: see package migrations
	DuplicateKey:       {refused, false},
	SyntaxError:        {refused, false},
	UnknownError:       {unknown, true},
	TableFull:          {unknown, true},
	HostBlocked:        {unknown, true},
	TableDenied:        {refused, true},
	ColumnDenied:       {refused, true},
	NoSuchTable:        {unknown, false},
	ErrorDuringCommit:  {unknown, false},
	TooManyOfUser:      {unknown, true},
	LockWaitTimeout:    {conflict, true},
	Deadlock:           {conflict, true},
	UserLimit:          {unknown, true},
	PrivilegeDenied:    {refused, true},
	NotSupported:       {refused, false},
	ReadOnly:           {unknown, true}, // the driver makes it ErrBadConn where the connection can be replaced
	QueryInterrupted:   {unknown, true},
	NoDefault:          {foreign, true},
	WrongCharacter:     {foreign, true},
	IsReferenced:       {foreign, true},
	NoReference:        {foreign, true},
	NoPartition:        {foreign, true},
	NotLoggable:        {refused, true},
	OutOfRange:         {refused, false},
	PasswordExpired:    {unknown, true},
	ReadOnlyMode:       {unknown, true},
	ConnectionKilled:   {unknown, true},
	ServerGone:         {unknown, true},
	ServerLost:         {unknown, true},
	StatementTimeout:   {unknown, true},
	OfflineMode:        {unknown, true},
	RolledBack:         {conflict, false},
	NotAvailable:       {unknown, true},
	SessionKilled:      {unknown, true},
	CheckViolated:      {foreign, true},
	ConstraintFailed:   {foreign, true},
	LockNotAvailable:   {unknown, false}, // replies to NOWAIT
	IdleTimeout:        {unknown, true},
	NoMultiStatement:   {refused, false},
	NoServer:           {unknown, true},
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
	return meanings[e.Number]
}

// HasNumber reports whether err is a MySQL error with one of numbers.
func HasNumber(err error, numbers ...uint16) bool {
	serverErr, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(numbers, serverErr.Number)
}
