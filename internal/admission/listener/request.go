package listener

import "bytes"

// isWhole reports whether received is one request without a body, after whose response,
// which has one, its connection may stay open. It is strict: what it does not know is no
// such request. A request whose end it misjudged would let one client of a proxy write
// the next one's.
func isWhole(received []byte) bool {
	head, rest, ok := bytes.Cut(received, endOfRequest)
	line, fields, _ := bytes.Cut(head, crlf)
	lines := bytes.Count(head, crlf)
	if !ok || len(rest) > 0 || !bytes.HasSuffix(line, http11) || bytes.HasPrefix(line, []byte("HEAD ")) ||
		bytes.Count(head, crlf[:1]) > lines || bytes.Count(head, crlf[1:]) > lines {
		return false
	}
	for len(fields) > 0 && ok {
		line, fields, _ = bytes.Cut(fields, crlf)
		ok = isPlain(line)
	}
	return ok
}

var crlf, http11 = []byte("\r\n"), []byte(" HTTP/1.1")

// isPlain reports whether a header's field says nothing of a body, or that there is
// none, and nothing of the connection.
func isPlain(field []byte) bool {
	name, value, ok := bytes.Cut(field, []byte(":"))
	if !ok || !isName(name) {
		return false
	}
	for _, f := range framing {
		if len(name) == len(f.name) && bytes.EqualFold(name, f.name) {
			return f.value != nil && bytes.EqualFold(bytes.TrimSpace(value), f.value)
		}
	}
	return true
}

// framing are the fields that may make a request end elsewhere, or its connection close,
// with the value that does not; nil is none.
var framing = []struct{ name, value []byte }{
	{[]byte("Content-Length"), []byte("0")}, {[]byte("Connection"), []byte("keep-alive")},
	{[]byte("Transfer-Encoding"), nil}, {[]byte("Expect"), nil}, {[]byte("Upgrade"), nil}, {[]byte("Trailer"), nil},
}

func isName(name []byte) bool {
	for _, b := range name {
		if b != '-' && b != '_' && (b < '0' || b > '9') && (b|0x20 < 'a' || b|0x20 > 'z') {
			return false
		}
	}
	return len(name) > 0
}

// endsHeader reports whether a header ends in what has been received. Its lines may end as
// net/http accepts them, with "\n" alone. The line breaks that some clients send after a body
// end none.
func endsHeader(received []byte) bool {
	received = bytes.TrimLeft(received, "\r\n")
	return bytes.Contains(received, []byte("\n\r\n")) || bytes.Contains(received, []byte("\n\n"))
}
