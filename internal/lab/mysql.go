package lab

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// MySQL is a running mariadbd or mysqld. Its address is empty if it has only a Unix socket.
type MySQL struct {
	*Server
	socket string
	synced string // parameters of SyncedDSN
}

// StartMySQL starts MariaDB, or MySQL if MariaDB is not installed, with args added
// to its command line. The server is fully durable: a commit returns after it
// has reached the disk.
func StartMySQL(l *Lab, args ...string) (*MySQL, error) { return startMySQL(l, "", args) }

// StartMySQLTCP is StartMySQL on a free loopback port as well, for clients that cannot use
// a Unix socket.
func StartMySQLTCP(l *Lab, args ...string) (*MySQL, error) { return startMySQLTCP(l, args) }

func startMySQLTCP(l *Lab, args []string, env ...string) (*MySQL, error) {
	return WithFreePort(func(port int) (*MySQL, error) {
		return startMySQL(l, fmt.Sprintf("127.0.0.1:%d", port), append([]string{"--skip-networking=0",
			"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", port)}, args...), env...)
	})
}

func startMySQL(l *Lab, address string, args []string, env ...string) (*MySQL, error) {
	p, m, err := mysqlProgram(l, args)
	if err != nil {
		return nil, err
	}
	p.Address, p.Env = address, env
	m.Server, err = l.Start(p)
	return m, err
}

// mysqlProgram returns a server that has its data and has not been started.
func mysqlProgram(l *Lab, args []string) (Program, *MySQL, error) {
	m := &MySQL{}
	p, err := l.program(MySQLServer, "mysql", func(dir string) (Program, error) {
		path, err := l.path(MySQLServer)
		if err != nil {
			return Program{}, err
		}
		template, err := dataTemplate(path)
		if err != nil {
			return Program{}, err
		}
		m.socket = filepath.Join(dir, "s")
		return Program{
			Args: append([]string{
				"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--socket=" + m.socket,
				// In a shared directory, a starting server removes the temporary tables of the others.
				"--tmpdir=" + dir,
				"--skip-networking", "--pid-file=" + filepath.Join(dir, "pid"), "--user=" + osUser(),
				// Debian's MySQL does not start if the packaged default directory is missing.
				"--secure-file-priv=" + dir,
				"--loose-mysqlx=OFF", // all servers of a machine would use the same socket
				"--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1", "--max-connections=500",
			}, args...),
			Ready: func(ctx context.Context) error { return ping(ctx, m.DSN("")) },
		}, copyData(filepath.Join(dir, "data"), template)
	})
	return p, m, err
}

// copyData copies a data directory without its identity, of which MySQL then makes another.
func copyData(data, template string) error {
	if err := os.CopyFS(data, os.DirFS(template)); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(data, "auto.cnf")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// DSN returns the value of MYSQL_DSN for the named database.
func (m *MySQL) DSN(database string) string {
	return fmt.Sprintf("root@unix(%s)/%s", m.socket, database)
}

// SyncedDSN is DSN with parameters that make each transaction of a member of a
// cluster wait for what the other members have committed before.
func (m *MySQL) SyncedDSN(database string) string { return m.DSN(database) + m.synced }

// Create creates an empty database and returns its DSN.
func (m *MySQL) Create(ctx context.Context, database string) (string, error) {
	return m.DSN(database), m.exec(ctx, "CREATE DATABASE `"+database+"`")
}

func ping(ctx context.Context, dsn string) error {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	cfg.Logger = &mysql.NopLogger{} // errors are expected until the server is ready
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	return db.PingContext(ctx)
}

// dataTemplate returns an initialised data directory to copy. It is created
// once per user and server version: initialising takes half a second, copying
// about 20 ms.
func dataTemplate(server string) (string, error) {
	version, err := exec.Command(server, "--no-defaults", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("lab: %s --version: %w", server, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "flashsale-lab")
	sum := sha256.Sum256(version)
	data := filepath.Join(cache, fmt.Sprintf("mysql-%x", sum[:6]))
	if _, err := os.Stat(data); err == nil {
		return data, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	initialise := initialiseMySQL
	if strings.Contains(string(version), "MariaDB") { // its executable may be called mysqld too
		initialise = initialiseMariaDB
	}
	if out, err := initialise(server, filepath.Join(tmp, "data")).CombinedOutput(); err != nil {
		return "", fmt.Errorf("lab: initialise %s: %w: %s", server, err, out)
	}
	err = os.Rename(filepath.Join(tmp, "data"), data)
	if _, statErr := os.Stat(data); statErr == nil {
		err = nil // another process has created the same directory meanwhile
	}
	return data, err
}

func initialiseMySQL(server, data string) *exec.Cmd {
	return exec.Command(server, "--no-defaults", "--initialize-insecure", "--datadir="+data, "--user="+osUser(),
		"--innodb-redo-log-capacity=8M")
}

func initialiseMariaDB(_, data string) *exec.Cmd {
	return exec.Command("mariadb-install-db", "--no-defaults", "--datadir="+data, "--user="+osUser(),
		"--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=8M")
}
