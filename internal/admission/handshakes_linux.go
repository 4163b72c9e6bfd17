package admission

import (
	"context"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// handshakeTime is how long a client of the same data centre needs to complete a
// handshake that has begun.
const handshakeTime = 5 * time.Millisecond

// dropSYNs is a BPF program that drops the packets that begin a handshake: byte 13
// of a TCP header has the flags, of which SYN is 2.
var dropSYNs = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 13},
	{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 2, Jt: 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: 1<<32 - 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0},
}

// awaitHandshakes lets no further handshake begin, and returns when those that had
// begun are complete and accepted, or when ctx ends. The kernel resets connections
// that are not accepted when their listener closes, also if they have sent a
// request, while a client that is ignored connects to another instance once this
// listener has closed.
func awaitHandshakes(ctx context.Context, l net.Listener) {
	conn, ok := l.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		program := unix.SockFprog{Len: uint16(len(dropSYNs)), Filter: &dropSYNs[0]}
		_ = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program)
	})
	for queued := true; queued && ctx.Err() == nil; {
		time.Sleep(handshakeTime)
		queued = false
		_ = raw.Control(func(fd uintptr) { queued = hasQueue(int(fd)) })
	}
}

// hasQueue reports whether connections wait to be accepted. Of a listener the
// kernel gives their number as tcpi_unacked.
func hasQueue(fd int) bool {
	info, err := unix.GetsockoptTCPInfo(fd, unix.SOL_TCP, unix.TCP_INFO)
	return err == nil && info.Unacked > 0
}
