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
		{generator.Reply{Status: 201, Instance: "a"}, rig.Accepted},
		{generator.Reply{Status: 409, Code: "sold_out", Instance: "a"}, "sold_out"},
		{generator.Reply{Status: 503, RetryAfter: true, Code: "overloaded", Instance: "a"}, Service503},
		{generator.Reply{Status: 503, RetryAfter: true, Code: "unavailable", Instance: "a"}, Unavailable503},
		{generator.Reply{Status: 503, RetryAfter: true, Code: "unavailable"}, Nginx503},
		{generator.Reply{Status: 503, RetryAfter: true, Code: "overloaded"}, NginxOverloaded},
		{generator.Reply{Status: 503, Instance: "a"}, rig.Unexpected},
		{generator.Reply{Status: 409, Instance: "a"}, rig.Unexpected},
		{generator.Reply{Err: errors.New("closed")}, NoReply},
	} {
		if got := verdict(test.reply); got != test.want {
			t.Errorf("%+v: %s, want %s", test.reply, got, test.want)
		}
	}
}
