package overload

import (
	"testing"
	"time"
)

func TestRepliesAreParsed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reply          string
		outcome        outcome
		last, complete bool
	}{
		{"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", made, false, true},
		{"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", made, true, true},
		{"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n", refused, false, true},
		{"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", other, false, true},
		{"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n", other, false, true},
		{"HTTP/1.1 201 Created\r\nContent-Le", unanswered, false, false},
	} {
		if o, last, complete := parse([]byte(test.reply)); o != test.outcome || last != test.last || complete != test.complete {
			t.Errorf("%q: %v, %v, %v; want %v, %v, %v", test.reply, o, last, complete, test.outcome, test.last, test.complete)
		}
	}
	if _, _, complete := parse([]byte("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{")); complete {
		t.Error("a reply without its last byte is complete")
	}
}

func TestServiceIsNormalAfterEnoughQuickClaims(t *testing.T) {
	t.Parallel()
	var samples []sample
	for i := range 100 {
		s := sample{sent: time.Duration(i) * 10 * time.Millisecond, took: time.Millisecond, outcome: made}
		if i < 30 { // the crowd is still there
			s.took = time.Second
		}
		samples = append(samples, s)
	}
	var r Result
	r.summarize(samples, 2*time.Second)
	if want := 491 * time.Millisecond; r.Normal != want || r.Made != 100 || r.MadeMax != time.Second {
		t.Errorf("%+v, want normal after %s", r, want)
	}
	r = Result{}
	r.summarize(samples[:30], time.Second)
	if r.Normal != time.Second {
		t.Errorf("never normal: %s, want all of the phase", r.Normal)
	}
}
