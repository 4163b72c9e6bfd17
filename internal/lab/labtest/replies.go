package labtest

import (
	"context"
	"io"
	"net"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// longLength is a length for which go-redis allocates much.
var longLength = regexp.MustCompile(`(?m)^[$*~>%|=!]\+?[0-9]{4}`)

// Replying returns a Redis client to whose commands the other side replies with
// replies, whatever they are, and with the last of them for ever, and closes the connection after
// each. It is for fuzzing: no server sends such replies on demand. Commands are not retried. It skips
// a reply that is long, or that says so.
func Replying(tb testing.TB, replies ...[]byte) redis.UniversalClient {
	tb.Helper()
	last := replies[len(replies)-1]
	if len(last) > 256 || longLength.Match(last) {
		tb.Skip("go-redis allocates what a length says")
	}
	var dials atomic.Int64
	rdb := redis.NewClient(&redis.Options{
		PoolSize: 1, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		ConnMaxLifetime:          time.Nanosecond, // a connection has one reply
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go serveReply(server, replies[min(int(dials.Add(1)), len(replies))-1])
			return client, nil
		},
	})
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// serveReply refuses HELLO, replies to the next command, and closes conn. The client sends
// each command by one write at least.
func serveReply(conn net.Conn, reply []byte) {
	defer conn.Close()
	command := make([]byte, 64<<10)
	if _, err := conn.Read(command); err != nil {
		return
	}
	if _, err := io.WriteString(conn, "-ERR unknown command\r\n"); err != nil {
		return
	}
	if _, err := conn.Read(command); err != nil {
		return
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }() // the rest of the command
	_, _ = conn.Write(reply)
}
