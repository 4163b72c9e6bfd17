package generator

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/flashsale/internal/check"
)

// A server that serves one connection at a time accepts no other, and the kernel keeps only a few for it.
func TestServerThatAcceptsNoConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	check.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	check.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	check.NoError(t, unix.Listen(fd, 1))
	name, err := unix.Getsockname(fd)
	check.NoError(t, err)
	onEveryPoller(t, func(t *testing.T, start func(string, time.Duration, func(Reply)) *Generator) {
		g := start(fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port), 100*time.Millisecond, func(Reply) {})
		defer g.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := g.Connect(ctx, 100); err == nil || !strings.HasPrefix(err.Error(), "only ") {
			t.Errorf("%v, want that only some are open", err)
		}
	})
}
