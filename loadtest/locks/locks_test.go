package main

import (
	"testing"
	"time"
)

func TestViewsAreJudgedByWhatWasCounted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		views Views
		want  bool
	}{
		"all counted":            {Views{Expect: "hold", Counted: 666, Answered: 666, OnA: 333, OnB: 333}, true},
		"one lost":               {Views{Expect: "hold", Counted: 665, Answered: 666, OnA: 333, OnB: 333}, false},
		"one refused":            {Views{Expect: "hold", Counted: 665, Answered: 665, OnA: 333, OnB: 332}, false},
		"one instance only":      {Views{Expect: "hold", Counted: 666, Answered: 666, OnA: 666}, false},
		"control breaks":         {Views{Expect: "break", Counted: 9, Answered: 666, OnA: 333, OnB: 333}, true},
		"control loses nothing":  {Views{Expect: "break", Counted: 666, Answered: 666, OnA: 333, OnB: 333}, false},
		"control answers nobody": {Views{Expect: "break", OnA: 333, OnB: 333}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.views.judge(); c.views.Pass != c.want {
				t.Errorf("pass = %v", c.views.Pass)
			}
		})
	}
}

func TestAwayLastsUntilTheFirstClaimAfterTheLastFailure(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	var sale Sale
	sale.answers([]Claim{
		{at(1), "accepted", "1"}, {at(3), "unexpected", ""}, {at(4), "accepted", "2"}, {at(5), "unexpected", ""},
		{at(6), "already_claimed", ""}, {at(7), "accepted", "3"}, {at(8), "accepted", "4"},
	}, at(2))
	if sale.Away != 5 || sale.Refused != 2 || sale.Accepted != 4 {
		t.Errorf("away %v s, %d refused, %d accepted; want 5, 2, 4", sale.Away, sale.Refused, sale.Accepted)
	}
}
