package trial

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
)

// faultOf counts in n how often it was healed.
func faultOf(n *int, err error) fault.Fault {
	return fault.Fault{
		Strike: func(context.Context) error { return err }, Heal: func() error { *n++; return nil },
	}
}

func untilTheEnd(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func TestEveryFaultStrikesOnceAndThenTheLoadsEnd(t *testing.T) {
	t.Parallel()
	var first, second, recovered int
	c, err := Schedule{
		Faults:    []fault.Fault{faultOf(&first, nil), faultOf(&second, nil)},
		Recovered: func(context.Context, Strike) error { recovered++; return nil },
	}.Run(t.Context(), untilTheEnd, untilTheEnd)
	if err != nil || first != 1 || second != 1 || recovered != 2 || len(c.Strikes) != 2 || c.End.Before(c.Begin) ||
		c.Strikes[0].End.Before(c.Strikes[0].Begin) {
		t.Errorf("healed %d and %d times, recovered %d, %+v, %v", first, second, recovered, c, err)
	}
}

func TestFaultsStrikeUntilTheTimeIsUp(t *testing.T) {
	t.Parallel()
	var short, long int
	tooLong := faultOf(&long, nil)
	tooLong.Lasts = time.Hour
	c, err := Schedule{Faults: []fault.Fault{faultOf(&short, nil), tooLong}, Rest: time.Millisecond, For: time.Second}.
		Run(t.Context(), untilTheEnd)
	if err != nil || short < 2 || long != 0 || len(c.Strikes) != short {
		t.Errorf("the short fault struck %d times and the long one %d, %d strikes, %v", short, long, len(c.Strikes), err)
	}
}

func TestLoadsThatEndByThemselvesEndTheTrial(t *testing.T) {
	t.Parallel()
	early, late, cut := 0, 0, false
	waiting := faultOf(&late, nil)
	waiting.Strike = untilTheEnd
	for _, f := range []fault.Fault{faultOf(&early, nil), waiting} {
		_, err := Schedule{Faults: []fault.Fault{f}, Loaded: true}.Run(t.Context(), func(ctx context.Context) error {
			cut = !rig.Sleep(ctx, 50*time.Millisecond) || cut // longer than the first fault
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if cut || early != 1 || late != 1 {
		t.Errorf("a load was cut: %t; healed %d and %d times", cut, early, late)
	}
}

func TestFailureEndsTheTrial(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	n := 0
	for name, test := range map[string]struct {
		schedule Schedule
		load     Load
	}{
		"of a fault": {Schedule{Faults: []fault.Fault{faultOf(&n, failed)}, Loaded: true}, untilTheEnd},
		"of a load":  {Schedule{Rest: time.Hour}, func(context.Context) error { return failed }},
		"of the recovery": {Schedule{Faults: []fault.Fault{faultOf(new(int), nil)},
			Recovered: func(context.Context, Strike) error { return failed }}, untilTheEnd},
	} {
		if _, err := test.schedule.Run(t.Context(), test.load); !errors.Is(err, failed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n != 0 {
		t.Error("a fault that did not strike was healed")
	}
}
