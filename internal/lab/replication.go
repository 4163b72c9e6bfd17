package lab

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/jmoiron/sqlx"
)

// A Replication is a MariaDB primary and its replica, by GTID. The replica is
// read-only until Promote.
type Replication struct {
	Primary, Replica *MySQL
}

// replicated are the arguments of both servers, so that either can be the
// primary.
var replicated = []string{"--log-bin=log", "--log-slave-updates", "--gtid-strict-mode=ON"}

// StartAsyncReplication starts a primary whose commits return before the replica has
// them.
func StartAsyncReplication(l *Lab) (*Replication, error) { return startReplication(l, nil, nil) }

// StartSemiSyncReplication starts a primary whose commits are visible and return only
// after the replica has stored them in its relay log (AFTER_SYNC). While the
// replica is away they wait, for ten minutes at most.
func StartSemiSyncReplication(l *Lab) (*Replication, error) {
	r, err := startReplication(l, []string{
		"--rpl-semi-sync-master-enabled=ON", "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
		"--rpl-semi-sync-master-timeout=600000",
	}, []string{"--rpl-semi-sync-slave-enabled=ON"})
	if err != nil {
		return nil, err
	}
	return r, eventually(r.expectSemiSync)
}

func startReplication(l *Lab, primaryArgs, replicaArgs []string) (*Replication, error) {
	r := &Replication{}
	var err error
	if r.Primary, err = StartMySQLTCP(l, append(append(primaryArgs, replicated...), "--server-id=1")...); err != nil {
		return nil, err
	}
	if r.Replica, err = StartMySQLTCP(l,
		append(append(replicaArgs, replicated...), "--server-id=2", "--read-only=ON")...); err != nil {
		return nil, err
	}
	return r, r.Follow(context.Background(), r.Primary.Address)
}

// Kill ends both servers.
func (r *Replication) Kill() { killAll([]*MySQL{r.Primary, r.Replica}) }

// Follow makes the replica read the primary's log at address, which may be that
// of a proxy, and returns when it does.
func (r *Replication) Follow(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	err = r.Replica.exec(ctx, "STOP SLAVE",
		fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%s, MASTER_USER='root', MASTER_USE_GTID=slave_pos",
			host, port),
		"START SLAVE")
	if err != nil {
		return err
	}
	return eventually(r.expectReplicating)
}

// Promote makes the replica accept writes, after it has applied all that it has
// received. The primary must have ended.
func (r *Replication) Promote(ctx context.Context) error {
	if err := r.Replica.exec(ctx, "STOP SLAVE IO_THREAD"); err != nil {
		return err
	}
	status, err := r.status(ctx)
	if err != nil {
		return err
	}
	err = r.Replica.withDB(func(db *sqlx.DB) error {
		var expired int
		const q = "SELECT MASTER_GTID_WAIT(?, 60)"
		if err := db.GetContext(ctx, &expired, q, status["Gtid_IO_Pos"]); err != nil || expired == 0 {
			return err
		}
		return errors.New("lab: the replica has not applied its relay log within a minute")
	})
	if err != nil {
		return err
	}
	return r.Replica.exec(ctx, "STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF")
}

func (r *Replication) expectReplicating(ctx context.Context) error {
	status, err := r.status(ctx)
	if err == nil && (status["Slave_IO_Running"] != "Yes" || status["Slave_SQL_Running"] != "Yes") {
		err = fmt.Errorf("the replica does not replicate: %s%s", status["Last_IO_Error"], status["Last_SQL_Error"])
	}
	return err
}

func (r *Replication) expectSemiSync(ctx context.Context) error {
	return r.Primary.expectStatus(ctx, "Rpl_semi_sync_master_clients", "1")
}

// status returns the columns of SHOW SLAVE STATUS as text.
func (r *Replication) status(ctx context.Context) (map[string]string, error) {
	columns := map[string]any{}
	err := r.Replica.withDB(func(db *sqlx.DB) error {
		return db.QueryRowxContext(ctx, "SHOW SLAVE STATUS").MapScan(columns)
	})
	status := map[string]string{}
	for name, value := range columns {
		status[name] = fmt.Sprintf("%s", value)
	}
	return status, err
}

// exec executes statements on one connection after the other.
func (m *MySQL) exec(ctx context.Context, statements ...string) error {
	return m.withDB(func(db *sqlx.DB) error {
		for _, q := range statements {
			if _, err := db.ExecContext(ctx, q); err != nil {
				return fmt.Errorf("lab: %s: %w", q, err)
			}
		}
		return nil
	})
}

// withDB calls f with a pool of connections to m and closes the pool.
func (m *MySQL) withDB(f func(*sqlx.DB) error) error {
	db, err := sqlx.Open("mysql", m.DSN(""))
	if err != nil {
		return err
	}
	defer db.Close()
	return f(db)
}

// expectStatus returns an error unless a status variable has the value want.
func (m *MySQL) expectStatus(ctx context.Context, name, want string) error {
	return m.withDB(func(db *sqlx.DB) error {
		var got string
		err := db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&name, &got)
		if err == nil && got != want {
			err = fmt.Errorf("%s is %s, want %s", name, got, want)
		}
		return err
	})
}
