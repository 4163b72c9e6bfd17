package generator

import (
	"runtime"
	"strings"
	"testing"

	"example.com/flashsale/loadtest/rig"
)

func TestRepliesAreParsed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text           string
		want           Reply
		verdict        string
		last, complete bool
	}{
		{"HTTP/1.1 201 Created\r\nContent-Length: 31\r\nX-Instance: a\r\n\r\n{\"coupon_id\":\"7\",\"id\":\"123\",\"x\"}",
			Reply{Status: 201, Order: "123", Instance: "a"}, rig.Accepted, false, true},
		{"HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", Reply{Status: 201}, rig.Accepted, true, true},
		{"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 20\r\n\r\n{\"code\":\"overloaded\"}",
			Reply{Status: 503, Code: "overloaded", RetryAfter: true}, rig.Overloaded, false, true},
		{"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", Reply{Status: 503}, rig.Unexpected, false, true},
		{"HTTP/1.1 409 Conflict\r\nContent-Length: 43\r\n\r\n{\"code\":\"already_claimed\",\"order_id\":\"9876\"}",
			Reply{Status: 409, Code: "already_claimed", Order: "9876"}, "already_claimed", false, true},
		{"HTTP/1.0 201 Created\r\nContent-Length: 0\r\n\r\n", Reply{Status: 201}, rig.Accepted, true, true},
		{"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
			Reply{Status: 201}, rig.Accepted, false, true},
		{"HTTP/1.1 100 Continue\r\n\r\n", Reply{}, rig.Lost, false, false},
		{"HTTP/1.1 201 Created\r\nContent-Le", Reply{}, rig.Lost, false, false},
		{"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{", Reply{}, rig.Lost, false, false},
	} {
		r := Reply{Text: []byte(test.text)}
		last, complete, err := r.parse()
		r.Text = nil
		if err != nil || last != test.last || complete != test.complete || r.Status != test.want.Status ||
			r.Code != test.want.Code || r.Verdict() != test.verdict || r.Order != test.want.Order ||
			r.Instance != test.want.Instance || r.RetryAfter != test.want.RetryAfter {
			t.Errorf("%q: %+v, last %v, complete %v, %v", test.text, r, last, complete, err)
		}
	}
}

// A shop may be of any framework.
func TestRepliesOfAnyFormAreParsed(t *testing.T) {
	t.Parallel()
	const want = `{"id":"7"}`
	for text, ended := range map[string]bool{
		"HTTP/1.1 201 Created\r\ncontent-length: 10\r\n\r\n" + want:                                    false,
		"HTTP/1.1 201\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"id\r\n6\r\n\":\"7\"}\r\n0\r\n\r\n":  false,
		"HTTP/1.1 201\r\nTransfer-Encoding: chunked\r\n\r\na\r\n" + want + "\r\n0\r\nX-Sum: 1\r\n\r\n": false,
		"HTTP/1.1 201 Created\r\nX-Empty:\r\n\r\n" + want:                                              true,
		"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 201 Created\r\n\r\n" + want:                           true,
	} {
		r := Reply{Text: []byte(text)}
		if last, complete, err := r.parseAny(ended); err != nil || !complete || last != ended || r.Status != 201 ||
			string(r.Body) != want || r.Order != "7" {
			t.Errorf("%q: %+v, last %v, complete %v, %v", text, r, last, complete, err)
		}
		for n := range len(text) - 1 {
			r := Reply{Text: []byte(text[:n])}
			if _, complete, err := r.parse(); complete || err != nil {
				t.Errorf("%q: complete %v, %v", text[:n], complete, err)
			}
		}
	}
}

func TestWhatIsNotHTTPIsMalformed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n"} {
		r := Reply{Text: []byte(text)}
		if _, _, err := r.parse(); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

// A reply of 3 MB comes in a hundred parts. If each had all before it read again, 666 of them would take minutes.
func TestPartOfALongReplyIsNotReadAgain(t *testing.T) {
	part := strings.Repeat("x", 1<<20)
	for _, header := range []string{
		"Transfer-Encoding: chunked\r\n\r\n200000", "content-length: 2097152\r\n", "X-Until: the end\r\n",
	} {
		r := Reply{Text: []byte("HTTP/1.1 200 OK\r\n" + header + "\r\n" + part)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, complete, err := r.parse()
		runtime.ReadMemStats(&after)
		if read := after.TotalAlloc - before.TotalAlloc; complete || err != nil || read > uint64(len(part)) {
			t.Errorf("%q: %d bytes allocated, complete %v, %v", header, read, complete, err)
		}
	}
}
