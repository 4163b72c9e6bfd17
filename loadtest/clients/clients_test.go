package clients

import (
	"errors"
	"net/http"
	"testing"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

func TestVerdictOfAReply(t *testing.T) {
	t.Parallel()
	later := http.Header{"Retry-After": {"1"}}
	for _, test := range []struct {
		reply generator.Reply
		want  string
	}{
		{generator.Reply{Status: 201}, rig.Accepted},
		{generator.Reply{Status: 409, Code: "sold_out"}, "sold_out"},
		{generator.Reply{Status: 503, Header: later, Code: "overloaded"}, rig.Overloaded},
		{generator.Reply{Status: 503, Header: later}, rig.Unavailable},
		{generator.Reply{Status: 503, Code: "overloaded"}, rig.Unexpected},
		{generator.Reply{Err: errors.New("closed")}, rig.Lost},
	} {
		if got := verdict(test.reply); got != test.want {
			t.Errorf("%+v: %s, want %s", test.reply, got, test.want)
		}
	}
}
