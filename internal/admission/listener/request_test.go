package listener

import (
	"bufio"
	"bytes"
	"net/http"
	"testing"
)

// FuzzWholeRequest compares isWhole with what the server would read.
func FuzzWholeRequest(f *testing.F) {
	for _, seed := range []string{
		get, get + get, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 00\r\nContent-Length: 7\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, close\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nTransfer-encoding: chunked\r\n\r\n", "GET / HTTP/1.1\nHost: x\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		if !isWhole(request) {
			return
		}
		text := bufio.NewReader(bytes.NewReader(request))
		r, err := http.ReadRequest(text)
		if err != nil { // the server would refuse it and close the connection: it does not wait for more
			if n := bytes.Count(request, endOfRequest); n != 1 {
				t.Errorf("%d ends in %q: %v", n, request, err)
			}
			return
		}
		if text.Buffered() > 0 || r.ContentLength != 0 || len(r.TransferEncoding) > 0 || r.Close ||
			r.Header.Get("Expect") != "" || r.ProtoMinor != 1 {
			t.Errorf("%q leaves %d bytes of %+v", request, text.Buffered(), r)
		}
	})
}

func TestUsualRequestsAreWhole(t *testing.T) {
	t.Parallel()
	for _, request := range []string{
		get, atOnce, "POST /coupons/1/orders HTTP/1.1\r\nHost: x:80\r\nAuthorization: Bearer a.b-c_d\r\n" +
			"content-length: 0\r\nX-Real-IP: ::1\r\nConnection: Keep-Alive\r\n\r\n",
	} {
		if !isWhole([]byte(request)) {
			t.Errorf("%q is not", request)
		}
	}
}
