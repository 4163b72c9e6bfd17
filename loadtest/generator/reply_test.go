package generator

import "testing"

func TestRepliesAreParsed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text           string
		want           Reply
		last, complete bool
	}{
		{"HTTP/1.1 201 Created\r\nContent-Length: 31\r\nX-Instance: a\r\n\r\n{\"coupon_id\":\"7\",\"id\":\"123\",\"x\"}",
			Reply{Status: 201, Order: "123", Instance: "a"}, false, true},
		{"HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", Reply{Status: 201}, true, true},
		{"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 20\r\n\r\n{\"code\":\"overloaded\"}",
			Reply{Status: 503, Code: "overloaded", RetryAfter: true}, false, true},
		{"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", Reply{Status: 503}, false, true},
		{"HTTP/1.1 409 Conflict\r\nContent-Length: 43\r\n\r\n{\"code\":\"already_claimed\",\"order_id\":\"9876\"}",
			Reply{Status: 409, Code: "already_claimed", Order: "9876"}, false, true},
		{"HTTP/1.1 201 Created\r\nContent-Le", Reply{}, false, false},
		{"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{", Reply{}, false, false},
	} {
		r := Reply{Text: []byte(test.text)}
		last, complete, err := r.parse()
		r.Text = nil
		if err != nil || last != test.last || complete != test.complete || r.Status != test.want.Status ||
			r.Code != test.want.Code ||
			r.Order != test.want.Order || r.Instance != test.want.Instance || r.RetryAfter != test.want.RetryAfter {
			t.Errorf("%q: %+v, last %v, complete %v, %v", test.text, r, last, complete, err)
		}
	}
}

func TestRepliesWithoutLengthAreMalformed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n"} {
		r := Reply{Text: []byte(text)}
		if _, _, err := r.parse(); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}
