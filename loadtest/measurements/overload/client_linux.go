package overload

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
	"unsafe"
)

// An arrival is one claim that is due.
type arrival struct {
	phase   int
	begin   time.Time // of the phase
	headers []byte
}

// A client is one connection.
type client struct {
	all       *clients
	fd        int
	connected bool
	busy      bool
	arrival   arrival
	sent      time.Time // the claim; before it is connected, the first packet
	request   []byte    // reused
	reply     []byte    // what has arrived of it, reused
}

// replyTimeout is above every timeout of nginx and of the service.
const replyTimeout = 20 * time.Second

// An address is where clients connect to.
type address = syscall.SockaddrInet4

func parseAddress(hostPort string) (a address, err error) {
	ap, err := netip.ParseAddrPort(hostPort)
	if err != nil {
		return a, err
	}
	if !ap.Addr().Is4() {
		return a, &net.AddrError{Err: "not an IPv4 address", Addr: hostPort}
	}
	return address{Port: int(ap.Port()), Addr: ap.Addr().As4()}, nil
}

// dial begins to connect, from one of several loopback addresses: one has ports for
// 28,000 connections only. The claim is sent once the connection is open.
func (c *clients) dial(to address, a arrival) {
	conn := &client{all: c, arrival: a, sent: time.Now(), busy: true}
	c.busy++
	c.opened++
	from := address{Addr: [4]byte{127, 0, 0, byte(2 + c.opened%100)}}
	var err error
	if conn.fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0); err != nil {
		conn.end(unanswered, time.Now(), err.Error())
		return
	}
	c.byFD[conn.fd] = conn
	err = errors.Join(
		syscall.SetsockoptInt(conn.fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1),
		syscall.SetsockoptInt(conn.fd, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1),
		syscall.SetsockoptLinger(conn.fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1}), // reset, so that the port is free again
		syscall.Bind(conn.fd, &from),
		syscall.EpollCtl(c.epoll, syscall.EPOLL_CTL_ADD, conn.fd, &syscall.EpollEvent{Events: syscall.EPOLLOUT, Fd: int32(conn.fd)}))
	if connecting := syscall.Connect(conn.fd, &to); !errors.Is(connecting, syscall.EINPROGRESS) {
		err = errors.Join(err, connecting)
	}
	if err != nil {
		conn.fail(err)
	}
}

// ready does what the connection is ready for.
func (c *client) ready() {
	if !c.connected {
		c.open()
		return
	}
	if !c.busy { // the server has closed an idle connection
		c.close()
		return
	}
	n, arrived, err := c.receive(c.reply[len(c.reply):cap(c.reply)])
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return
	case err != nil || n <= 0:
		c.fail(errors.Join(err, errors.New("closed without a complete reply")))
		return
	}
	c.reply = c.reply[:len(c.reply)+n]
	o, last, complete := parse(c.reply)
	if !complete {
		return
	}
	detail := ""
	if o == other {
		detail = string(c.reply)
	}
	c.end(o, arrived, detail)
	if last {
		c.close()
		return
	}
	c.all.idle = append(c.all.idle, c)
}

// receive reads into b. It also returns when the bytes arrived at the socket, since
// when the process may have waited for CPU. Linux stamps no packets in the first
// moment after a socket has asked for it: their time is that of the call.
func (c *client) receive(b []byte) (n int, arrived time.Time, err error) {
	var control [64]byte
	n, size, _, _, err := syscall.Recvmsg(c.fd, b, control[:], 0)
	arrived = time.Now()
	if messages, _ := syscall.ParseSocketControlMessage(control[:size]); len(messages) == 1 {
		arrived = time.Unix((*syscall.Timespec)(unsafe.Pointer(&messages[0].Data[0])).Unix())
	}
	return n, arrived, err
}

// open sends the claim on a connection that is open.
func (c *client) open() {
	code, err := syscall.GetsockoptInt(c.fd, syscall.SOL_SOCKET, syscall.SO_ERROR)
	if code != 0 {
		err = errors.Join(err, syscall.Errno(code))
	}
	err = errors.Join(err, syscall.EpollCtl(c.all.epoll, syscall.EPOLL_CTL_MOD, c.fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(c.fd)}))
	if err != nil {
		c.fail(err)
		return
	}
	c.connected = true
	c.all.connects = append(c.all.connects, time.Since(c.sent))
	c.busy = false
	c.all.busy--
	c.write(c.arrival)
}

// write sends a.
func (c *client) write(a arrival) {
	if c.reply == nil {
		c.reply = make([]byte, 0, 1024)
	}
	c.arrival, c.busy, c.reply = a, true, c.reply[:0]
	c.all.busy++
	c.request = append(append(append(c.request[:0], c.all.prefix...), a.headers...), "Content-Length: 0\r\n\r\n"...)
	c.sent = time.Now()
	if _, err := syscall.Write(c.fd, c.request); err != nil {
		c.fail(err)
	}
}

// end records what became of the claim at a time.
func (c *client) end(o outcome, at time.Time, detail string) {
	c.busy = false
	c.all.busy--
	c.all.samples = append(c.all.samples, sample{c.arrival.phase, c.sent.Sub(c.arrival.begin), max(0, at.Sub(c.sent)), o})
	if detail != "" {
		c.all.detail = detail
	}
}

func (c *client) fail(err error) {
	c.end(unanswered, time.Now(), fmt.Sprintf("after %s: %v", time.Since(c.sent), err))
	c.close()
}

func (c *client) close() {
	delete(c.all.byFD, c.fd)
	for i, conn := range c.all.idle {
		if conn == c {
			c.all.idle = append(c.all.idle[:i], c.all.idle[i+1:]...)
			break
		}
	}
	_ = syscall.Close(c.fd)
}
