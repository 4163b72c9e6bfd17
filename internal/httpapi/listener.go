package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
)

// Listener returns l for the server that serves a. If that server refuses a
// request before it calls a handler, because the request is not HTTP, the client
// gets a problem too. net/http has no setting for this: it writes plain text to
// the connection.
func (a *API) Listener(l net.Listener) net.Listener { return listener{l, a} }

type listener struct {
	net.Listener
	api *API
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn{c, l.api}, nil
}

type conn struct {
	net.Conn
	api *API
}

// Write implements net.Conn.
func (c conn) Write(b []byte) (int, error) {
	p := refusal(b)
	if p == nil {
		return c.Conn.Write(b)
	}
	c.api.metrics.request("any", "", p.Status)
	var text bytes.Buffer
	_ = p.response(c.api.cfg.Instance).Write(&text) // a Buffer returns no error
	if _, err := c.Conn.Write(text.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite lets net/http send a refusal to a client that is still writing.
func (c conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// SyscallConn implements syscall.Conn.
func (c conn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// protocol begins every response. plainText follows the status line if net/http
// refuses a request; the responses of handlers have a date.
var (
	protocol  = []byte("HTTP/1.1 ")
	plainText = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
)

// expectationFailed begins the response of net/http, without a body, to an
// Expect that it does not know. No handler replies with this status.
var expectationFailed = []byte("HTTP/1.1 417 ")

// refusal returns the problem for what net/http writes to refuse a request, or
// nil if b is anything else.
func refusal(b []byte) *Problem {
	if bytes.HasPrefix(b, expectationFailed) {
		return badExpectation
	}
	if !bytes.HasPrefix(b, protocol) || !bytes.HasPrefix(b[max(0, bytes.IndexByte(b, '\r')):], plainText) {
		return nil
	}
	for _, p := range []*Problem{headersTooLarge, notImplemented, wrongVersion} {
		if bytes.HasPrefix(b[len(protocol):], strconv.AppendInt(nil, int64(p.Status), 10)) {
			return p
		}
	}
	return badRequest
}

// response returns p as the last response of a connection.
func (p *Problem) response(instance string) *http.Response {
	body, _ := encode(p)
	return &http.Response{
		StatusCode: p.Status, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header:        http.Header{"Content-Type": {p.ContentType("")}, "X-Instance": {instance}},
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}
}
