package labtest

import (
	"context"
	"io"
	"net"
	"regexp"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.com/flashsale/internal/check"
)

// longLength is a length for which go-redis allocates much.
var longLength = regexp.MustCompile(`(?m)^[$*~>%|=!]\+?[0-9]{4}`)

// Replying returns a Redis client to whose every command the other side replies
// with reply, whatever that is, and closes the connection. It is for fuzzing:
// no server sends such replies on demand. Commands are not retried. It skips a reply that is
// long, or that says so.
func Replying(tb testing.TB, reply []byte) redis.UniversalClient {
	tb.Helper()
	if len(reply) > 256 || longLength.Match(reply) {
		tb.Skip("go-redis allocates what a length says")
	}
	rdb := redis.NewClient(&redis.Options{
		PoolSize: 1, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		ConnMaxLifetime:          time.Nanosecond, // a connection has one reply
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go serveReply(server, reply)
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

// Store stores a value of some type in key, for fuzzing: kind 0 stores nothing. A hash may be one
// of Redisson's read lock.
func Store(tb testing.TB, rdb redis.UniversalClient, key string, kind byte, field, value string) {
	tb.Helper()
	ctx, err := context.Background(), error(nil)
	switch kind % 6 {
	case 1:
		err = rdb.Set(ctx, key, value, 0).Err()
	case 2:
		err = rdb.HSet(ctx, key, "mode", "read", field, value).Err()
	case 3:
		err = rdb.RPush(ctx, key, field, value).Err()
	case 4:
		err = rdb.SAdd(ctx, key, value).Err()
	case 5:
		err = rdb.ZAdd(ctx, key, redis.Z{Score: float64(len(value)), Member: value}).Err()
	}
	check.NoError(tb, err)
}
