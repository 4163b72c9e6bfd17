package fault

import (
	"context"
	"errors"
	"testing"
)

func TestFaultIsHealedOnlyIfItStruck(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for name, want := range map[string]error{"struck": nil, "not struck": failed} {
		healed := false
		f := Fault{
			Strike: func(context.Context) error { return want },
			Heal:   func() error { healed = true; return nil },
		}
		struck, until, err := f.Inject(t.Context())
		if !errors.Is(err, want) || healed != (want == nil) || until.Before(struck) == healed {
			t.Errorf("%s: healed %t, from %s to %s, %v", name, healed, struck, until, err)
		}
	}
}
