package generator

import (
	"bufio"
	"io"
	"net/http"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A Reply is the reply to one request, or its absence.
type Reply struct {
	Request  int       // its number
	Due      time.Time // when the model wanted it to be sent
	Sent     time.Time // its first byte; if that was not sent, when the connection was begun
	Received time.Time // the last byte; without a reply, when the generator gave up

	Status int // 0 without a reply
	Header http.Header
	Body   []byte
	Code   string // of a problem
	Order  string // the id of the order that was made, or that a problem names

	Err error // why there is no reply
}

// Took returns the time from the first byte of the request to the last byte of the
// reply.
func (r Reply) Took() time.Duration { return max(0, r.Received.Sub(r.Sent)) }

// Instance returns X-Instance.
func (r Reply) Instance() string { return r.Header.Get("X-Instance") }

// readReply reads a reply. It is the last of its connection if it has an error, or if the
// server says so.
func readReply(from *bufio.Reader) (r Reply, last bool) {
	resp, err := http.ReadResponse(from, nil)
	if err != nil {
		return Reply{Received: time.Now(), Err: err}, true
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return Reply{Received: time.Now(), Err: err}, true
	}
	r = Reply{Received: time.Now(), Status: resp.StatusCode, Header: resp.Header, Body: body}
	r.Code, r.Order = rig.Said(body)
	return r, resp.Close
}
