package labtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Replying returns a Redis client to whose every command the other side replies
// with reply, whatever that is, and closes the connection. It is for fuzzing:
// no server sends such replies on demand. Commands are not retried.
func Replying(tb testing.TB, reply []byte) redis.UniversalClient {
	tb.Helper()
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

// serveReply refuses HELLO, replies to the first other command, and closes conn.
func serveReply(conn net.Conn, reply []byte) {
	defer conn.Close()
	for r := bufio.NewReader(conn); ; {
		command, err := readCommand(r)
		if err != nil {
			return
		}
		if strings.EqualFold(command, "hello") {
			if _, err := io.WriteString(conn, "-ERR unknown command\r\n"); err != nil {
				return
			}
			continue
		}
		_, _ = conn.Write(reply)
		return
	}
}

// readCommand reads a command and returns its name.
func readCommand(r *bufio.Reader) (name string, err error) {
	var parts, length int
	if _, err := fmt.Fscanf(r, "*%d\r\n", &parts); err != nil {
		return "", err
	}
	for i := range parts {
		if _, err := fmt.Fscanf(r, "$%d\r\n", &length); err != nil {
			return "", err
		}
		part := make([]byte, length+2)
		if _, err := io.ReadFull(r, part); err != nil {
			return "", err
		}
		if i == 0 {
			name = string(part[:length])
		}
	}
	return name, nil
}
