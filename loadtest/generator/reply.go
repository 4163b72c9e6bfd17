package generator

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// A Reply is the reply to one request, or its absence.
type Reply struct {
	Request  int       // its number
	Due      time.Time // when the model wanted it to be sent
	Sent     time.Time // its first byte; if that was not sent, when the connection was begun
	Received time.Time // the last byte at the socket; without a reply, when the generator gave up

	Status     int    // 0 without a reply
	Code       string // of a problem
	Order      string // the id of the order that was made, or that a problem names
	Instance   string // X-Instance
	RetryAfter bool   // the reply has a Retry-After
	Text       []byte // all of the reply; valid until received returns
	Body       []byte // of the reply; valid until received returns

	Err error // why there is no reply
}

// Took returns the time from the first byte of the request to the last byte of the
// reply.
func (r Reply) Took() time.Duration { return max(0, r.Received.Sub(r.Sent)) }

// Header returns the header of the reply, which is valid as Text is.
func (r Reply) Header() http.Header {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(r.Text)), nil)
	if err != nil {
		return nil
	}
	_ = resp.Body.Close()
	return resp.Header
}

var (
	endOfLine     = []byte("\r\n")
	endOfHeader   = []byte("\r\n\r\n")
	contentLength = []byte("\r\nContent-Length: ")
	closed        = []byte("\r\nConnection: close\r\n")
	retryAfter    = []byte("\r\nRetry-After: ")
	instance      = []byte("\r\nX-Instance: ")
)

var errMalformed = errors.New("not an HTTP reply")

// skipInterim removes the replies of status 1xx, as 103 Early Hints, that come before the reply.
func (r *Reply) skipInterim() {
	for bytes.HasPrefix(r.Text, []byte("HTTP/1.1 1")) {
		_, r.Text, _ = bytes.Cut(r.Text, endOfHeader)
	}
}

// parse parses Text once it is complete. It is the last reply of its connection if
// the server says so. What the service and nginx reply is recognized as text; that is
// cheaper than a parser.
func (r *Reply) parse() (last, complete bool, err error) {
	r.skipInterim()
	end := bytes.Index(r.Text, endOfHeader)
	if end < 0 {
		return false, false, nil
	}
	header, body := r.Text[:end+len(endOfLine)], r.Text[end+len(endOfHeader):]
	length, err := strconv.Atoi(string(value(header, contentLength)))
	if err != nil || end < 12 || header[7] == '0' { // HTTP/1.0 keeps no connection open
		return r.parseAny(false)
	}
	if len(body) < length {
		return false, false, nil
	}
	if r.Status, err = strconv.Atoi(string(header[9:12])); err != nil {
		return false, false, errMalformed
	}
	r.RetryAfter, r.Instance = bytes.Contains(header, retryAfter), string(value(header, instance))
	r.setBody(body)
	return bytes.Contains(header, closed), true, nil
}

// parseAny is parse for a reply in any form of HTTP/1.1. A body without a length is
// complete if the connection has ended. The body is read once only: of one that comes in
// many parts, most of the time would go there.
func (r *Reply) parseAny(ended bool) (last, complete bool, err error) {
	r.skipInterim()
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(r.Text)), nil)
	if err != nil {
		return false, false, errors.Join(errMalformed, err)
	}
	defer resp.Body.Close()
	chunked := len(resp.TransferEncoding) > 0
	untilEnd := resp.ContentLength < 0 && !chunked
	if untilEnd && !ended || chunked && !bytes.HasSuffix(r.Text, endOfHeader) ||
		resp.ContentLength > int64(len(r.Text)) {
		return false, false, nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil { // what is cut has errors of many kinds
		return false, false, nil
	}
	r.Status, r.Instance = resp.StatusCode, resp.Header.Get("X-Instance")
	r.RetryAfter = resp.Header.Get("Retry-After") != ""
	r.setBody(body)
	return resp.Close || untilEnd, true, nil
}

// setBody sets the body and what it says in the form of the service.
func (r *Reply) setBody(body []byte) {
	r.Body = body
	if r.Status < 300 {
		r.Order = member(body, `"id":"`)
	} else {
		r.Code, r.Order = member(body, `"code":"`), member(body, `"order_id":"`)
	}
}

// value returns the value of the field whose name, with what surrounds it, is name.
func value(header, name []byte) []byte {
	_, rest, _ := bytes.Cut(header, name)
	v, _, _ := bytes.Cut(rest, endOfLine)
	return v
}

// member returns the string that follows name and its punctuation in a JSON object
// without spaces, or nothing.
func member(object []byte, name string) string {
	_, rest, _ := bytes.Cut(object, []byte(name))
	v, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(v)
}
