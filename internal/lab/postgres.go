package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Postgres is a running PostgreSQL, of which anybody at its loopback port is the superuser
// postgres.
type Postgres struct {
	*Server
	as  []string
	bin string
}

// StartPostgres starts PostgreSQL on a free loopback port. It is fully durable. PostgreSQL
// does not run as root: for root it runs as the account postgres.
func StartPostgres(l *Lab) (*Postgres, error) {
	path, err := l.path(PostgresServer)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, err
	}
	p := &Postgres{bin: filepath.Dir(path)}
	if isRoot() {
		p.as = []string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}
	}
	p.Server, err = l.serveTCP(PostgresServer, "postgres", func(dir, address string) (Program, error) {
		host, port, _ := strings.Cut(address, ":")
		server := p.command("postgres", "-D", "data", "-p", port, "-c", "listen_addresses="+host,
			"-c", "unix_socket_directories=", "-c", "max_connections=200",
			"-c", "dynamic_shared_memory_type=mmap") // in its directory, which the lab removes
		return Program{
			Path: server[0], Args: server[1:],
			Ready: func(ctx context.Context) error { return p.run(ctx, "pg_isready", "-q", "-h", host, "-p", port) },
		}, p.initialise(l, dir)
	})
	return p, err
}

// initialise makes a data directory in dir.
func (p *Postgres) initialise(l *Lab, dir string) error {
	if isRoot() {
		if err := exec.Command("chown", "postgres:", dir).Run(); err != nil {
			return fmt.Errorf("lab: the account postgres, for PostgreSQL: %w", err)
		}
		if err := os.Chmod(l.dir, 0o711); err != nil {
			return err
		}
	}
	return p.run(context.Background(), "initdb", "--pgdata="+filepath.Join(dir, "data"), "--username=postgres",
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
}

// run runs a program of PostgreSQL.
func (p *Postgres) run(ctx context.Context, program string, args ...string) error {
	line := p.command(program, args...)
	if out, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("lab: %s: %w: %s", program, err, out)
	}
	return nil
}

// command returns a command line of PostgreSQL, for the account that it runs as.
func (p *Postgres) command(program string, args ...string) []string {
	return slices.Concat(p.as, []string{filepath.Join(p.bin, program)}, args)
}

// Create creates an empty database and returns its URL.
func (p *Postgres) Create(ctx context.Context, database string) (string, error) {
	return p.url(database), p.run(ctx, "createdb", "--maintenance-db="+p.url("postgres"), database)
}

func (p *Postgres) url(database string) string {
	return "postgres://postgres@" + p.Address + "/" + database + "?sslmode=disable"
}
