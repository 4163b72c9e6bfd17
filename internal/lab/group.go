package lab

import (
	"context"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// A Group is a running cluster of database servers: a transaction that one member commits
// is committed by all.
//
// A killed member that is restarted joins the others again, which send it the transactions
// that it has missed.
type Group struct {
	Members []*MySQL
	kind    *GroupKind
}

// A GroupKind is how the members of a group replicate.
type GroupKind struct {
	Name string
	// lacks returns what a server lacks to be a member, if anything.
	lacks func(version, plugins string) string
	// start starts the i-th member, which joins the others. The first one begins the group.
	start func(l *Lab, members []member, i int, args []string) (*MySQL, error)
	// joined checks that m is one of n members that reach each other.
	joined func(ctx context.Context, m *MySQL, n int) error
}

// ErrNoGroup says that a server cannot be a member of a group.
var ErrNoGroup = errors.New("no group of this kind")

// CanJoin returns an error that wraps ErrNoGroup unless servers like m can form a group.
func (m *MySQL) CanJoin(ctx context.Context, kind *GroupKind) error {
	var version, plugins string
	err := m.withDB(func(db *sqlx.DB) error {
		return db.QueryRowxContext(ctx, "SELECT VERSION(), @@plugin_dir").Scan(&version, &plugins)
	})
	if err != nil {
		return err
	}
	if lacks := kind.lacks(version, plugins); lacks != "" {
		return fmt.Errorf("%w: %s: %s", ErrNoGroup, lacks, version)
	}
	return nil
}

// StartGroup starts a group with a member on each of hosts, of which all or none are nil: on free
// loopback ports. args are added to their command lines. It returns when all have joined.
func StartGroup(l *Lab, kind *GroupKind, hosts []*Host, args ...string) (g *Group, err error) {
	if hosts[0] != nil {
		args = append(args, "--skip-name-resolve")
	}
	for range 3 { // another process may have taken one of the ports
		var members []member
		members, err = startEach(len(hosts), func(i int) (member, error) { return newMember(hosts[i]) })
		if err != nil {
			return nil, err
		}
		if g, err = startMembers(l, kind, members, args); err == nil {
			return g, nil
		}
	}
	return nil, err
}

func startMembers(l *Lab, kind *GroupKind, members []member, args []string) (*Group, error) {
	started, err := startEach(len(members), func(i int) (*MySQL, error) {
		m, err := kind.start(l, members, i, args)
		if err == nil && i == 0 {
			err = m.exec(context.Background(), anybody...)
		}
		return m, err
	})
	g := &Group{started, kind}
	if err == nil {
		err = g.AwaitJoined()
	}
	if err != nil {
		for _, other := range g.Members {
			err = fmt.Errorf("%w; another member: %s", err, other.LogTail())
		}
		g.Kill()
		return nil, err
	}
	return g, nil
}

// anybody lets clients, and members that copy transactions, come from other hosts.
var anybody = []string{"CREATE USER root@'%'", "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION"}

// Kill ends all members.
func (g *Group) Kill() { killAll(g.Members) }

// AwaitJoined waits until each member reaches all of them.
func (g *Group) AwaitJoined() error {
	return eventually(func(ctx context.Context) error {
		for _, m := range g.Members {
			if err := g.kind.joined(ctx, m, len(g.Members)); err != nil {
				return err
			}
		}
		return nil
	})
}

// A member is where a server of a group runs, and the ports that it
// listens on: for clients, for the other members, and, of Galera, for the
// transactions that it has missed.
type member struct {
	host            *Host // nil: in the namespace of this process
	address         string
	sql, group, ist int
}

func (m member) at(port int) string { return fmt.Sprintf("%s:%d", m.address, port) }

// newMember returns a member on h. If that is nil, its ports were free.
func newMember(h *Host) (m member, err error) {
	if h != nil {
		return member{host: h, address: h.Address, sql: 3306, group: 4567, ist: 4568}, nil
	}
	m.address = "127.0.0.1"
	for _, port := range []*int{&m.sql, &m.group, &m.ist} {
		if *port, err = FreePort(); err != nil {
			return m, err
		}
	}
	return m, nil
}
