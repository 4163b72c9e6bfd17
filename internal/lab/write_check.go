package lab

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
)

// startWriteCheck serves the health check of m over HTTP on the address here and
// returns its port: 200 if m accepts writes, 503 otherwise. HAProxy's own check of
// MySQL only sees that a server accepts connections. The check ends with the lab.
func startWriteCheck(l *Lab, here string, m *MySQL) (port string, err error) {
	// Through the address that clients use, so that the check fails if they do.
	db, err := connect.MySQL("root@tcp("+m.Address+")/mysql?timeout=900ms", 1)
	if err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(here, "0"))
	if err != nil {
		return "", err
	}
	server := &http.Server{ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !acceptsWrites(r.Context(), db) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})}
	go func() { _ = server.Serve(listener) }()
	l.onClose(func() error {
		_ = db.Close() // fails if m has been killed
		return server.Close()
	})
	_, port, err = net.SplitHostPort(listener.Addr().String())
	return port, err
}

// acceptsWrites reports whether the server of db is neither read-only nor a
// node that is outside of its Galera cluster or still catching up with it, nor a
// member that is outside of its replication group or of the group's majority. A
// comment that begins with /*M! is for MariaDB, one with /*!80000 for MySQL.
func acceptsWrites(ctx context.Context, db *sqlx.DB) bool {
	ctx, cancel := context.WithTimeout(ctx, 900*time.Millisecond)
	defer cancel()
	const q = `
		SELECT @@read_only = 0
			/*M! AND (@@wsrep_on = 0 OR EXISTS (
				SELECT 1 FROM information_schema.GLOBAL_STATUS
				WHERE VARIABLE_NAME = 'wsrep_local_state_comment' AND VARIABLE_VALUE = 'Synced')) */
			/*!80000 AND NOT EXISTS (
				SELECT 1 FROM performance_schema.replication_group_members
				HAVING SUM(MEMBER_ID = @@server_uuid AND MEMBER_STATE = 'ONLINE') = 0
					OR 2 * SUM(MEMBER_STATE = 'UNREACHABLE') >= COUNT(*)) */`
	var ok bool
	return db.GetContext(ctx, &ok, q) == nil && ok
}
