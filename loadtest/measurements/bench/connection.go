package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// A connection is one keep-alive connection with the samples measured on it.
type connection struct {
	openResult
	conn   net.Conn
	reader *bufio.Reader
	prefix string // of each request
	buffer []byte // for the request, reused
}

func (c *connection) open(conn net.Conn, prefix string) {
	c.conn, c.reader, c.prefix = conn, bufio.NewReaderSize(conn, 4096), prefix
}

func (c *connection) serve(arrivals <-chan arrival) error {
	for a := range arrivals {
		c.sendDelays = append(c.sendDelays, time.Since(a.due))
		status, err := c.claim(a.headers)
		if err != nil {
			return err
		}
		c.latencies = append(c.latencies, time.Since(a.due))
		if status < 300 {
			c.accepted++
		} else {
			c.refused++
		}
	}
	return nil
}

func (c *connection) claim(headers []byte) (status int, err error) {
	c.buffer = append(append(append(c.buffer[:0], c.prefix...), headers...), "Content-Length: 0\r\n\r\n"...)
	if err := c.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return 0, err
	}
	if _, err := c.conn.Write(c.buffer); err != nil {
		return 0, err
	}
	return readResponse(c.reader)
}

var contentLength = []byte("Content-Length: ")

// readResponse reads one response with a Content-Length and returns its status.
func readResponse(r *bufio.Reader) (status int, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("not HTTP: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, fmt.Errorf("not HTTP: %q", line)
	}
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(line, contentLength); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, errors.New("a response without Content-Length")
	}
	_, err = r.Discard(length)
	return status, err
}
