package listener

import (
	"errors"
	"syscall"
)

// receive reads what has arrived into b. The error is EAGAIN if nothing has; 0 without an
// error is the end.
func (c *Conn) receive(b []byte) (n int, err error) {
	err = control(c.raw, func(fd int) error {
		n, err = syscall.Read(fd, b)
		for errors.Is(err, syscall.EINTR) {
			n, err = syscall.Read(fd, b)
		}
		return err
	})
	return max(0, n), err
}

// control calls use with the file descriptor of conn.
func control(conn syscall.RawConn, use func(fd int) error) (err error) {
	if closed := conn.Control(func(fd uintptr) { err = use(int(fd)) }); closed != nil {
		return closed
	}
	return err
}

// peek copies what has arrived and was not read into b. The error is EAGAIN if nothing
// has; 0 without an error is the end.
func (c *Conn) peek(b []byte) (n int, err error) {
	err = control(c.raw, func(fd int) error {
		n, _, err = syscall.Recvfrom(fd, b, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return err
	})
	return n, err
}

// hasArrived reports whether something has arrived and was not read.
func (c *Conn) hasArrived() bool {
	n, _ := c.peek(make([]byte, 1))
	return n > 0
}

// respond sends a response, which fits into the send buffer unless the client does not
// read. It reports whether all of it was sent.
func (c *Conn) respond(response []byte) bool {
	n := 0
	_ = control(c.raw, func(fd int) (err error) {
		n, err = syscall.Write(fd, response)
		return err
	})
	return n > 0 && n == len(response)
}
