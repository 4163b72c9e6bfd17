package overload

import (
	"errors"
	"testing"
	"time"

	"example.com/flashsale/loadtest/generator"
)

func TestOutcomeOfAReply(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reply generator.Reply
		want  outcome
	}{
		{generator.Reply{Status: 201}, made},
		{generator.Reply{Status: 503, RetryAfter: true}, refused},
		{generator.Reply{Status: 503}, other},
		{generator.Reply{Status: 409, Code: "sold_out"}, other},
		{generator.Reply{Err: errors.New("closed")}, unanswered},
	} {
		if got := outcomeOf(test.reply); got != test.want {
			t.Errorf("%+v: %v, want %v", test.reply, got, test.want)
		}
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
