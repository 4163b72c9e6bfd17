package clients

import (
	"errors"
	"testing"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

func TestVerdictOfAReply(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reply generator.Reply
		want  string
	}{
		{generator.Reply{Status: 201}, rig.Accepted},
		{generator.Reply{Status: 409, Code: "sold_out"}, "sold_out"},
		{generator.Reply{Status: 503, RetryAfter: true, Code: "overloaded"}, rig.Overloaded},
		{generator.Reply{Status: 503, RetryAfter: true}, rig.Unavailable},
		{generator.Reply{Status: 503, Code: "overloaded"}, rig.Unexpected},
		{generator.Reply{Err: errors.New("closed")}, rig.Lost},
	} {
		if got := verdict(test.reply); got != test.want {
			t.Errorf("%+v: %s, want %s", test.reply, got, test.want)
		}
	}
}
