package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
)

// MySQL Group Replication. In SinglePrimary mode one member accepts writes; when it fails, the
// others elect another. In MultiPrimary mode all do.
//
// A killed member that is restarted joins the others if they are a majority. It is ready when
// it copies the transactions that it has missed; see AwaitJoined.
var (
	SinglePrimary = groupReplication("Group Replication, single-primary", "--group-replication-single-primary-mode=ON",
		"--group-replication-enforce-update-everywhere-checks=OFF")
	MultiPrimary = groupReplication("Group Replication, multi-primary", "--group-replication-single-primary-mode=OFF",
		"--group-replication-enforce-update-everywhere-checks=ON")
)

func groupReplication(name string, mode ...string) *GroupKind {
	return &GroupKind{
		Name: name,
		lacks: func(_, plugins string) string {
			if _, err := os.Stat(filepath.Join(plugins, "group_replication.so")); err != nil {
				return "the server has no plugin group_replication.so; LAB_MYSQLD may name one that has"
			}
			return ""
		},
		start: func(l *Lab, members []member, i int, args []string) (*MySQL, error) {
			return startGroupMember(l, members, i, slices.Concat(mode, args))
		},
		joined: func(ctx context.Context, m *MySQL, n int) error { return expectState(ctx, m, n, "ONLINE") },
	}
}

// startGroupMember starts the i-th member and makes it join the others. The first one
// begins the group. From its second start on a member joins by itself.
func startGroupMember(l *Lab, members []member, i int, args []string) (*MySQL, error) {
	p, m, err := mysqlProgram(l, append(groupArgs(members, i), args...))
	if err != nil {
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

// joinStatements make a member join the group, or begin it.
func joinStatements(begin bool) []string {
	recovery := "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'"
	if !begin {
		return []string{recovery, "START GROUP_REPLICATION"}
	}
	return []string{
		recovery, "SET GLOBAL group_replication_bootstrap_group = ON", "START GROUP_REPLICATION",
		"SET GLOBAL group_replication_bootstrap_group = OFF",
	}
}

// groupArgs returns the arguments of a member. The group suspects a member that is
// silent for five seconds, which cannot be changed, and expels it at once.
func groupArgs(members []member, i int) []string {
	var seeds, addresses []string
	for _, m := range members {
		seeds, addresses = append(seeds, m.at(m.group)), append(addresses, m.address)
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
		"--group-replication-member-expel-timeout=0",
	}
}

// MakePrimary makes m the primary of its group in SinglePrimary mode.
func (m *MySQL) MakePrimary(ctx context.Context) error {
	var result string
	return m.withDB(func(db *sqlx.DB) error {
		return db.GetContext(ctx, &result, "SELECT group_replication_set_as_primary(@@server_uuid)")
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
