package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
)

// A ReplicationGroup is a running MySQL Group Replication: a transaction that one
// member commits is committed by all.
type ReplicationGroup struct{ Members []*MySQL }

// GroupMode says which members of a group accept writes.
type GroupMode string

// In SinglePrimary mode one member accepts writes. When it fails, the others elect
// another. In MultiPrimary mode all do.
const (
	SinglePrimary GroupMode = "single-primary"
	MultiPrimary  GroupMode = "multi-primary"
)

// ErrNoGroupReplication says that a server has no plugin for Group Replication.
var ErrNoGroupReplication = errors.New("the server has no plugin group_replication.so; LAB_MYSQLD may name one that has")

// HasGroupReplication returns an error that wraps ErrNoGroupReplication unless servers
// like m can form a group.
func (m *MySQL) HasGroupReplication(ctx context.Context) error {
	var dir, version string
	err := m.withDB(func(db *sqlx.DB) error {
		return db.QueryRowxContext(ctx, "SELECT @@plugin_dir, VERSION()").Scan(&dir, &version)
	})
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "group_replication.so")); err != nil {
		return fmt.Errorf("%w: %s", ErrNoGroupReplication, version)
	}
	return nil
}

// StartReplicationGroup starts a group of n members, each with args added to its
// command line, and returns when all are online.
//
// A killed member that is restarted joins the others again, if they are a majority. It is
// ready when it copies the transactions that it has missed; see AwaitOnline.
func StartReplicationGroup(l *Lab, mode GroupMode, n int, args ...string) (*ReplicationGroup, error) {
	return withLocalMembers(n, func(members []member) (*ReplicationGroup, error) {
		return startReplicationGroup(l, mode, members, args)
	})
}

// StartReplicationGroupOn is StartReplicationGroup with a member on each of hosts.
func StartReplicationGroupOn(l *Lab, mode GroupMode, hosts []*Host, args ...string) (*ReplicationGroup, error) {
	return startReplicationGroup(l, mode, membersOn(hosts), append(args, "--skip-name-resolve"))
}

func startReplicationGroup(l *Lab, mode GroupMode, members []member, args []string) (*ReplicationGroup, error) {
	started, err := startEach(len(members), func(i int) (*MySQL, error) {
		return startGroupMember(l, mode, members, i, args)
	})
	g := &ReplicationGroup{started}
	if err != nil {
		g.Kill()
		return nil, err
	}
	return g, g.AwaitOnline()
}

// Kill ends all members.
func (g *ReplicationGroup) Kill() {
	for _, m := range g.Members {
		m.Kill()
	}
}

// startGroupMember starts the i-th member and makes it join the others. The first one
// begins the group. From its second start on a member joins by itself.
func startGroupMember(l *Lab, mode GroupMode, members []member, i int, args []string) (*MySQL, error) {
	p, m, err := mysqlProgram(l, append(groupArgs(mode, members, i), args...))
	if err != nil {
		return nil, err
	}
	// All copies of the data have the same identity; without this file the server makes another.
	if err := os.Remove(filepath.Join(p.Dir, "data", "auto.cnf")); err != nil {
		return nil, err
	}
	p.Address, m.synced = members[i].at(members[i].sql), "?group_replication_consistency=%27BEFORE%27"
	if m.Server, err = l.Start(members[i].host.On(p)); err != nil {
		return nil, err
	}
	if err := m.exec(context.Background(), joinStatements(i == 0)...); err != nil {
		err = fmt.Errorf("%w: %s", err, m.LogTail())
		m.Kill()
		return nil, err
	}
	m.program.Args = append(m.program.Args, "--group-replication-start-on-boot=ON")
	m.program.Ready = func(ctx context.Context) error { return expectState(ctx, m, 0, "ONLINE", "RECOVERING") }
	return m, nil
}

// joinStatements make a member join the group, or begin it. The account is for clients
// and for members that copy transactions from this one, on other hosts; the members
// that join get it by replication.
func joinStatements(begin bool) []string {
	recovery := "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'"
	if !begin {
		return []string{recovery, "START GROUP_REPLICATION"}
	}
	return []string{
		recovery, "SET GLOBAL group_replication_bootstrap_group = ON", "START GROUP_REPLICATION",
		"SET GLOBAL group_replication_bootstrap_group = OFF", "CREATE USER root@'%'",
		"GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION",
	}
}

// groupArgs returns the arguments of a member. The group suspects a member that is
// silent for five seconds, which cannot be changed, and expels it at once.
func groupArgs(mode GroupMode, members []member, i int) []string {
	var seeds, addresses []string
	for _, m := range members {
		seeds, addresses = append(seeds, m.at(m.group)), append(addresses, m.address)
	}
	singlePrimary, allWrite := "ON", "OFF"
	if mode == MultiPrimary {
		singlePrimary, allWrite = "OFF", "ON"
	}
	m := members[i]
	return []string{
		"--skip-networking=0", "--bind-address=" + m.address, fmt.Sprintf("--port=%d", m.sql),
		"--report-host=" + m.address, fmt.Sprintf("--server-id=%d", i+1), "--gtid-mode=ON",
		"--enforce-gtid-consistency=ON", "--plugin-load-add=group_replication.so",
		"--group-replication-group-name=5ca1ab1e-0000-4000-8000-000000000001",
		"--group-replication-start-on-boot=OFF",
		"--group-replication-local-address=" + m.at(m.group),
		"--group-replication-group-seeds=" + strings.Join(seeds, ","),
		"--group-replication-ip-allowlist=" + strings.Join(addresses, ","),
		"--group-replication-single-primary-mode=" + singlePrimary,
		"--group-replication-enforce-update-everywhere-checks=" + allWrite,
		"--group-replication-member-expel-timeout=0",
	}
}

// SetPrimary makes m the primary of a group in SinglePrimary mode.
func (g *ReplicationGroup) SetPrimary(ctx context.Context, m *MySQL) error {
	var result string
	return m.withDB(func(db *sqlx.DB) error {
		return db.GetContext(ctx, &result, "SELECT group_replication_set_as_primary(@@server_uuid)")
	})
}

// AwaitOnline waits until each member sees all of them online.
func (g *ReplicationGroup) AwaitOnline() error {
	return eventually(func(ctx context.Context) error {
		for _, m := range g.Members {
			if err := expectState(ctx, m, len(g.Members), "ONLINE"); err != nil {
				return err
			}
		}
		return nil
	})
}

// expectState checks that m is in one of states, and sees at least n members online.
func expectState(ctx context.Context, m *MySQL, n int, states ...string) error {
	const q = `
		SELECT COALESCE(SUM(MEMBER_STATE = 'ONLINE'), 0),
			COALESCE(MAX(CASE WHEN MEMBER_ID = @@server_uuid THEN MEMBER_STATE END), 'OFFLINE')
		FROM performance_schema.replication_group_members`
	var online int
	var state string
	err := m.withDB(func(db *sqlx.DB) error { return db.QueryRowxContext(ctx, q).Scan(&online, &state) })
	if err == nil && (!slices.Contains(states, state) || online < n) {
		err = fmt.Errorf("the member is %s and sees %d members online, want %v and %d", state, online, states, n)
	}
	return err
}
