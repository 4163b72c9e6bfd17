package linearizable

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// randomSteps returns a few steps that overlap, some of them of one user.
func randomSteps(random *rand.Rand) (steps []step) {
	for range 2 + random.IntN(7) {
		call := time.Duration(random.IntN(20))
		s := step{call: call, ret: call + time.Duration(random.IntN(12)), user: int64(1 + random.IntN(4))}
		switch random.IntN(4) {
		case 0:
			s.user, s.units = 0, 1+random.IntN(2)
		case 1, 2:
			s.units = -1
			for _, other := range steps {
				if other.user == s.user && other.units < 0 {
					s.units = 0 // a user has one order at most
				}
			}
		}
		if random.IntN(8) == 0 && s.units != 0 {
			s.ret = never
		}
		steps = append(steps, s)
	}
	return steps
}

func TestSearchAgreesWithPorcupine(t *testing.T) {
	t.Parallel()
	seen := map[result]int{}
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 0))
		steps, initial := randomSteps(random), random.IntN(3)
		found, want := newSearch(steps, initial).run(), crossCheck(steps, initial)
		if found != want {
			t.Fatalf("seed %d: the search says %d and porcupine %d of stock %d and %v", seed, found, want,
				initial, steps)
		}
		seen[found]++
	}
	if seen[linearizable] < 1000 || seen[violated] < 1000 || seen[undecided] > 0 {
		t.Errorf("%d linearizable, %d violated, %d undecided: want many of both", seen[linearizable], seen[violated],
			seen[undecided])
	}
}

// Each refusal can be placed before or after others in any order, which a search
// that tries them all does not survive.
func TestSearchEndsAmongManyRefusals(t *testing.T) {
	t.Parallel()
	var steps []step
	for i := range 200 {
		steps = append(steps, step{call: time.Duration(i), ret: time.Duration(i + 100), user: int64(i + 1)})
	}
	steps = append(steps, step{call: 250, ret: 260, units: 5}, step{call: 270, ret: 280, user: 999})
	if found := newSearch(steps, 0).run(); found != violated {
		t.Errorf("a refusal while there is stock: %d, want violated", found)
	}
	if found := newSearch(steps[:201], 0).run(); found != linearizable {
		t.Errorf("refusals while there is none: %d, want linearizable", found)
	}
}

const ms = time.Millisecond

func TestHistoriesAreJudged(t *testing.T) {
	t.Parallel()
	claim := func(user int64, call, ret int, v response, order int64) operation {
		return operation{Coupon: 1, User: user, Call: time.Duration(call) * ms, Return: time.Duration(ret) * ms,
			Verdict: v, Order: order}
	}
	restock := func(units, call, ret int, v response) operation {
		return operation{Coupon: 1, Units: units, Call: time.Duration(call) * ms,
			Return: time.Duration(ret) * ms, Verdict: v}
	}
	for name, test := range map[string]struct {
		operations []operation
		end        final
		want       string // part of the error; empty if linearizable
	}{
		"one order, then sold out": {[]operation{claim(1, 0, 5, placed, 7), claim(2, 6, 9, soldOut, 0)},
			final{1, 0, map[int64]int64{1: 7}, nil}, ""},
		"an unknown order explains a refusal": {[]operation{claim(1, 0, 5, unknown, 0), claim(2, 6, 9, soldOut, 0)},
			final{1, 0, map[int64]int64{1: 7}, nil}, ""},
		"an unknown claim had no effect": {[]operation{claim(1, 300, 305, unknown, 0),
			claim(2, 306, 309, soldOut, 0)}, final{1, 1, nil, nil}, "sold out, told to user 2"},
		"sold out before the unknown order": {[]operation{claim(2, 1, 2, soldOut, 0), claim(1, 6, 9, unknown, 0)},
			final{1, 0, map[int64]int64{1: 7}, nil}, "sold out"},
		"an order that is not there": {[]operation{claim(1, 0, 5, placed, 7)}, final{1, 1, nil, nil},
			"does not have"},
		"another order than was told": {[]operation{claim(1, 0, 5, placed, 7)},
			final{1, 0, map[int64]int64{1: 8}, nil}, "does not have"},
		"one order told twice as new": {[]operation{claim(1, 0, 5, placed, 7), claim(1, 6, 9, placed, 7)},
			final{1, 0, map[int64]int64{1: 7}, nil}, "twice"},
		"an order of nobody": {[]operation{claim(1, 0, 5, noEffect, 0)},
			final{1, 0, map[int64]int64{1: 7}, nil}, "before any claim"},
		"told of an order before its claim": {[]operation{claim(1, 0, 5, alreadyClaimed, 7),
			claim(1, 6, 9, unknown, 0)}, final{1, 0, map[int64]int64{1: 7}, nil}, "before any claim"},
		"a unit that is gone": {nil, final{1, 0, nil, nil}, "units were on sale"},
		"sold out as the cache may say it": {[]operation{claim(1, 0, 5, placed, 7), restock(5, 10, 20, restocked),
			claim(2, 150, 160, soldOut, 0)}, final{1, 5, map[int64]int64{1: 7}, []int{5}}, ""},
		"sold out for longer than that": {[]operation{claim(1, 0, 5, placed, 7), restock(5, 10, 20, restocked),
			claim(2, 221, 230, soldOut, 0)}, final{1, 5, map[int64]int64{1: 7}, []int{5}}, "sold out, told to user 2"},
		"sold out after an unknown restock": {[]operation{claim(1, 0, 5, placed, 7), restock(5, 10, 20, unknown),
			claim(2, 221, 230, soldOut, 0)}, final{1, 5, map[int64]int64{1: 7}, []int{5}}, ""},
		"a restock that is not there": {[]operation{restock(5, 10, 20, restocked)}, final{1, 1, nil, nil},
			"does not have the restock"},
		"sold out, told to one who has it": {[]operation{claim(1, 0, 5, placed, 7),
			claim(1, 300, 305, soldOut, 0)}, final{1, 0, map[int64]int64{1: 7}, nil}, "sold out, told to user 1"},
		"an order before the restock that has": {[]operation{claim(1, 0, 5, placed, 7), claim(2, 6, 9, placed, 8),
			restock(5, 10, 20, restocked)}, final{1, 4, map[int64]int64{1: 7, 2: 8}, []int{5}}, "cannot follow"},
	} {
		err := check(test.operations, test.end)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// A text that is no longer there would leave the mutant without its defect.
func TestMutantsFitTheSource(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		source, err := os.ReadFile("../../../" + m.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.text); n != 1 {
			t.Errorf("%s: found %q %d times, want once", m.file, m.text, n)
		}
	}
}

func TestTwelveSeedsHaveEveryStrategyWithEveryLock(t *testing.T) {
	t.Parallel()
	seen := map[[2]string]bool{}
	for seed := range uint64(twelve) {
		v := variantOf(seed, "api")
		seen[[2]string{v.Commit, v.Lock}] = true
	}
	if want := len(rig.Commits) * len(locks); len(seen) != want {
		t.Errorf("%d combinations, want %d", len(seen), want)
	}
}
