package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Postgres is a running PostgreSQL, of which anybody at its loopback port is the superuser
// postgres.
type Postgres struct {
	*Server
	Address string // host:port
	as      []string
	bin     string
}

// StartPostgres starts PostgreSQL on a free loopback port. It is fully durable. PostgreSQL
// does not run as root: for root it runs as the account postgres.
func StartPostgres(l *Lab) (*Postgres, error) {
	path, err := l.path(PostgresServer)
	if err != nil {
		return nil, err
	}
	dir, err := l.Dir("postgres")
	if err != nil {
		return nil, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, err
	}
	p := &Postgres{bin: filepath.Dir(path)}
	if isRoot() {
		p.as = []string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}
		if err := exec.Command("chown", "postgres:", dir).Run(); err != nil {
			return nil, fmt.Errorf("lab: the account postgres, for PostgreSQL: %w", err)
		}
		if err := os.Chmod(l.dir, 0o711); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(dir, "data")
	initdb := p.command("initdb", "--pgdata="+data, "--username=postgres", "--auth=trust", "--encoding=UTF8",
		"--locale=C", "--no-sync")
	if out, err := exec.Command(initdb[0], initdb[1:]...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("lab: initialise PostgreSQL: %w: %s", err, out)
	}
	return WithFreePort(func(port int) (*Postgres, error) { return p.start(l, dir, data, port) })
}

func (p *Postgres) start(l *Lab, dir, data string, port int) (_ *Postgres, err error) {
	p.Address = fmt.Sprintf("127.0.0.1:%d", port)
	server := p.command("postgres", "-D", data, "-p", fmt.Sprint(port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "max_connections=200",
		"-c", "dynamic_shared_memory_type=mmap") // in its directory, which the lab removes
	p.Server, err = l.Start(Program{
		Name: "postgres", Path: server[0], Args: server[1:], Dir: dir,
		Ready: func(ctx context.Context) error {
			ready := p.command("pg_isready", "-q", "-h", "127.0.0.1", "-p", fmt.Sprint(port))
			return exec.CommandContext(ctx, ready[0], ready[1:]...).Run()
		},
	})
	return p, err
}

// command returns a command line of PostgreSQL, for the account that it runs as.
func (p *Postgres) command(program string, args ...string) []string {
	line := append(append([]string{}, p.as...), filepath.Join(p.bin, program))
	line = append(line, args...)
	if path, err := exec.LookPath(line[0]); err == nil {
		line[0] = path
	}
	return line
}

// Create creates an empty database and returns its URL.
func (p *Postgres) Create(ctx context.Context, database string) (string, error) {
	create := p.command("createdb", "--maintenance-db="+p.url("postgres"), database)
	if out, err := exec.CommandContext(ctx, create[0], create[1:]...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("lab: create the database %s: %w: %s", database, err, out)
	}
	return p.url(database), nil
}

func (p *Postgres) url(database string) string {
	return "postgres://postgres@" + p.Address + "/" + database + "?sslmode=disable"
}
