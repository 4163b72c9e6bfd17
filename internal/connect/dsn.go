package connect

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

var errDSN = errors.New("not a MySQL DSN (user:password@tcp(host:3306)/database)")

// parseDSN returns the driver's configuration for dsn, with what MySQL overrides.
func parseDSN(dsn string) (*mysql.Config, error) {
	slash := strings.LastIndex(dsn, "/") + 1
	database, parameters, _ := strings.Cut(dsn[slash:], "?")
	cfg, err := mysql.ParseDSN(dsn[:slash] + database)
	switch {
	case err != nil:
		return nil, errDSN
	case cfg.DBName == "":
		return nil, errors.New("the MySQL DSN names no database")
	}
	if err := checkParameters(parameters, cfg.Net == "unix"); err != nil {
		return nil, err
	}
	if cfg, err = mysql.ParseDSN(dsn); err != nil {
		return nil, errDSN
	}
	return cfg, override(cfg)
}

func override(cfg *mysql.Config) error {
	cfg.ParseTime, cfg.Loc, cfg.InterpolateParams = true, time.UTC, true
	cfg.ClientFoundRows, cfg.MultiStatements, cfg.RejectReadOnly = false, false, true
	cfg.CheckConnLiveness, cfg.MaxAllowedPacket = true, mysql.NewConfig().MaxAllowedPacket
	cfg.Logger = &mysql.NopLogger{} // it would print errors that are also returned
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 2 * time.Second
	}
	return cfg.Apply(mysql.TimeTruncate(0))
}

// contradicting are the driver's parameters that are refused, with the reason, if they
// are true.
var contradicting = map[string]string{
	"allowAllFiles":           "it lets the server read the files of this machine",
	"allowCleartextPasswords": "without tls=true it sends the password in clear text",
	"allowOldPasswords":       "what it sends of the password is as good as clear text",
	"columnsWithAlias":        "it renames the columns that the service reads",
	"strict":                  "the driver has it no more",
}

// checkParameters returns an error that names the first parameter of a DSN that
// contradicts what the service needs, without its value.
func checkParameters(parameters string, private bool) error {
	private = private || slices.Contains(strings.Split(parameters, "&"), "tls=true")
	for parameter := range strings.SplitSeq(parameters, "&") {
		name, value, set := strings.Cut(parameter, "=")
		if !set || name == "allowCleartextPasswords" && private {
			continue
		}
		if reason := refusal(name, value); reason != "" {
			return fmt.Errorf("the parameter %s of the MySQL DSN is refused: %s", name, reason)
		}
	}
	return nil
}

// refusal returns why a parameter is refused, or "".
func refusal(name, value string) string {
	reason, contradicts := contradicting[name]
	if name == "strict" || contradicts && slices.Contains([]string{"1", "true", "TRUE", "True"}, value) {
		return reason
	}
	cfg, err := mysql.ParseDSN("/x?" + name + "=" + value)
	charset, _, _ := strings.Cut(strings.ToLower(value), ",")
	switch {
	case err != nil:
		return "the driver does not know its value"
	case name == "charset" && charset != "utf8mb4", name == "collation" && !strings.HasPrefix(charset, "utf8mb4_"):
		return "the service needs utf8mb4"
	}
	for name, value := range cfg.Params { // those that are not the driver's
		return variableRefusal(strings.ToLower(name), strings.Trim(value, `'"`))
	}
	return ""
}

// reserved are variables that have no place in a DSN: SET NAMES sets them, or they
// exclude the service's transactions from replication.
var reserved = []string{
	"character_set_database", "character_set_server", "collation_connection", "collation_database",
	"collation_server", "max_execution_time", "max_statement_time", "sql_log_bin", "wsrep_on",
}

var (
	scope = regexp.MustCompile(`^(@@)?((session|local)[. ])?`)
	word  = regexp.MustCompile(`^(autocommit|[a-z0-9]+(_[a-z0-9]+)+)$`) // the driver's own have no underscore
)

// variableRefusal returns why a DSN cannot set a session variable, or "".
func variableRefusal(name, value string) string {
	name = strings.Replace(scope.ReplaceAllString(name, ""), "tx_", "transaction_", 1)
	for _, v := range slices.Concat(characterSets, sessionVariables, transactionVariables) {
		if want := strings.Trim(v.value, "'"); name == v.name && !strings.EqualFold(value, want) {
			return "the service needs " + want
		}
	}
	switch {
	case slices.Contains(reserved, name):
		return "the service needs the session as it sets it"
	case !word.MatchString(name):
		return "it is neither one of the Go driver's parameters nor a session variable"
	}
	return ""
}
