package overload

import (
	"bytes"
	"strconv"
)

var (
	endOfHeader   = []byte("\r\n\r\n")
	contentLength = []byte("\r\nContent-Length: ")
	closed        = []byte("\r\nConnection: close\r\n")
	retryAfter    = []byte("\r\nRetry-After: ")
)

// parse parses a reply. It is the last of its connection if the server says so.
func parse(reply []byte) (o outcome, last, complete bool) {
	end := bytes.Index(reply, endOfHeader)
	if end < 0 {
		return unanswered, false, false
	}
	header, body := reply[:end+2], reply[end+len(endOfHeader):]
	_, value, _ := bytes.Cut(header, contentLength)
	value, _, _ = bytes.Cut(value, endOfHeader[:2])
	if length, err := strconv.Atoi(string(value)); err != nil || len(body) < length {
		return other, true, err != nil
	}
	last = bytes.Contains(header, closed)
	switch status := string(header[9:12]); {
	case status == "201":
		return made, last, true
	case status == "503" && bytes.Contains(header, retryAfter):
		return refused, last, true
	}
	return other, last, true
}
