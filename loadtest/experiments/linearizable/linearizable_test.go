package linearizable

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// randomSteps returns a few steps that overlap, some of them of one owner: its orders, what
// becomes of them, and what is told of them.
func randomSteps(random *rand.Rand) (steps []step) {
	var made []move
	for n := range 2 + random.IntN(7) {
		call := time.Duration(random.IntN(20))
		s := step{call: call, ret: call + time.Duration(random.IntN(12))}
		by, one := owner{int64(random.IntN(3)), 1}, holding{order: fmt.Sprint(n)}
		switch what := random.IntN(8); {
		case what == 0:
			s.units = 1 + random.IntN(2)
		case what < 4 || len(made) == 0:
			s.units, s.moves = -1, []move{{by, holding{}, one}}
			made = append(made, s.moves...)
		case what == 4:
			s.soldOut, s.saw = true, &sight{owner: by}
		default: // of an order, or of none
			i := random.IntN(len(made))
			of := made[i]
			switch what {
			case 5:
				s.saw = &sight{of.owner, of.to.order}
			case 6:
				s.moves = []move{{of.owner, of.to, holding{of.to.order, true}}}
			case 7:
				s.units, s.moves = 1, []move{{of.owner, of.to, holding{}}}
			}
		}
		if random.IntN(8) == 0 && !s.reads() {
			s.ret = never
		}
		steps = append(steps, s)
	}
	return steps
}

// crossCheck returns porcupine's verdict on the same steps.
func crossCheck(steps []step, initial int) result {
	operations := make([]porcupine.Operation, len(steps))
	for i, s := range steps {
		operations[i] = porcupine.Operation{ClientId: i, Input: s, Call: int64(s.call), Return: int64(s.ret)}
	}
	sale := porcupine.Model{
		Init: func() any { return model{initial, nil} },
		Step: func(st, input, _ any) (bool, any) {
			before, s := st.(model), input.(step)
			after := model{before.stock, maps.Clone(before.held)}
			if after.held == nil {
				after.held = map[owner]holding{}
			}
			possible := after.possible(s)
			after.do(s)
			return possible, after
		},
		Equal: func(a, b any) bool {
			x, y := a.(model), b.(model)
			maps.DeleteFunc(x.held, func(_ owner, h holding) bool { return h == holding{} })
			maps.DeleteFunc(y.held, func(_ owner, h holding) bool { return h == holding{} })
			return x.stock == y.stock && maps.Equal(x.held, y.held)
		},
	}
	if porcupine.CheckOperations(sale, operations) {
		return linearizable
	}
	return violated
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
	if seen[linearizable] < 1000 || seen[violated] < 1000 {
		t.Errorf("%d linearizable, %d violated: want many of both", seen[linearizable], seen[violated])
	}
}

// Each refusal can be placed before or after others in any order, which a search
// that tries them all does not survive.
func TestSearchEndsAmongManyRefusals(t *testing.T) {
	t.Parallel()
	var steps []step
	for i := range 200 {
		steps = append(steps, step{call: time.Duration(i), ret: time.Duration(i + 100), soldOut: true})
	}
	steps = append(steps, step{call: 250, ret: 260, units: 5}, step{call: 270, ret: 280, soldOut: true})
	if found := newSearch(steps, 0).run(); found != violated {
		t.Errorf("a refusal while there is stock: %d, want violated", found)
	}
	if found := newSearch(steps[:201], 0).run(); found != linearizable {
		t.Errorf("refusals while there is none: %d, want linearizable", found)
	}
}

// begin is that of the histories below, whose times are in milliseconds.
var begin = time.Unix(1000, 0).UTC()

func at(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }

func did(k trial.Kind, user int64, call, ret int, verdict, order string) trial.Operation {
	return trial.Operation{Kind: k, Claim: rig.Claim{User: user, Coupon: 1, Sent: at(call), Received: at(ret),
		Verdict: verdict, Order: order}}
}

func restocked(units, call, ret int, verdict string) trial.Operation {
	o := did(trial.Restock, 0, call, ret, verdict, "")
	o.Units = units
	return o
}

func used(reference string, call, ret int, verdict, order string) trial.Operation {
	o := did(trial.Use, 1, call, ret, verdict, order)
	o.Reference = reference
	return o
}

// counting returns an order that counts, and gone one that ended, both made at 0.
func counting(id string, user int64) rig.Order {
	return rig.Order{ID: id, User: user, Number: 1, CreatedAt: begin}
}

func gone(id string, user int64, how string, ended int) rig.Order {
	o, when := counting(id, user), at(ended)
	o.How, o.EndedAt = how, &when
	return o
}

func usedAt(ms int, reference string) rig.Order {
	o, when := counting("7", 1), at(ms)
	o.UsedRef, o.UsedAt = reference, &when
	return o
}

const (
	claim  = trial.Claim
	ok     = rig.Accepted
	lost   = rig.Lost
	none   = "sold_out"
	has    = "already_claimed"
	failed = rig.Overloaded
)

func TestHistoriesAreJudged(t *testing.T) {
	t.Parallel()
	type ops = []trial.Operation
	bought := did(claim, 1, 0, 5, ok, "7")
	has7, sold := []rig.Order{counting("7", 1)}, final{initial: 1, orders: []rig.Order{counting("7", 1)}}
	restockedBy5 := final{initial: 1, stock: 5, orders: has7, restocks: []int{5}}
	gaveUp := final{initial: 1, stock: 1, orders: []rig.Order{gone("7", 1, returned, 15)}}
	soldAgain := final{initial: 1, orders: []rig.Order{gone("7", 1, returned, 15), counting("8", 2)}}
	elapsed := final{initial: 1, stock: 1, hold: 10 * time.Second, orders: []rig.Order{gone("7", 1, expired, 10_500)}}
	spent := final{initial: 1, orders: []rig.Order{usedAt(15, "till")}}
	for name, test := range map[string]struct {
		operations ops
		end        final
		want       string // part of the error; empty if linearizable
	}{
		"one order, then sold out": {ops{bought, did(claim, 2, 6, 9, none, "")}, sold, ""},
		"an unknown order explains a refusal": {ops{did(claim, 1, 0, 5, lost, ""), did(claim, 2, 6, 9, none, "")},
			sold, ""},
		"an unknown claim had no effect": {ops{did(claim, 1, 300, 305, lost, ""), did(claim, 2, 306, 309, none, "")},
			final{initial: 1, stock: 1}, "sold out"},
		"sold out before the unknown order": {ops{did(claim, 2, 1, 2, none, ""), did(claim, 1, 6, 9, lost, "")}, sold,
			"sold out"},
		"an order that is not there":  {ops{bought}, final{initial: 1, stock: 1}, "does not have"},
		"another order than was told": {ops{did(claim, 1, 0, 5, ok, "8")}, sold, "does not have"},
		"one order told twice as new": {ops{bought, did(claim, 1, 6, 9, ok, "7")}, sold, "twice"},
		"an order of nobody":          {ops{did(claim, 1, 0, 5, failed, "")}, sold, "before any request"},
		"told of an order before its claim": {ops{did(claim, 1, 0, 5, has, "7"), did(claim, 1, 6, 9, lost, "")}, sold,
			"before any request"},
		"a unit that is gone": {nil, final{initial: 1}, "units were on sale"},
		"sold out as the cache may say it": {ops{bought, restocked(5, 10, 20, ok),
			did(claim, 2, 150, 160, none, "")}, restockedBy5, ""},
		"sold out for longer than that": {ops{bought, restocked(5, 10, 20, ok),
			did(claim, 2, 221, 230, none, "")}, restockedBy5, "sold out"},
		"sold out after an unknown restock": {ops{bought, restocked(5, 10, 20, lost),
			did(claim, 2, 221, 230, none, "")}, restockedBy5, ""},
		"a restock that is not there": {ops{restocked(5, 10, 20, ok)}, final{initial: 1, stock: 1},
			"does not have the restock"},
		"sold out, told to one who has it": {ops{bought, did(claim, 1, 300, 305, none, "")}, sold,
			"sold out"},
		"an order before the restock that has": {ops{bought, did(claim, 2, 6, 9, ok, "8"),
			restocked(5, 10, 20, ok)}, final{initial: 1, stock: 4, restocks: []int{5},
			orders: []rig.Order{counting("7", 1), counting("8", 2)}}, "cannot follow"},

		"a returned unit is sold again": {ops{bought, did(trial.Return, 1, 10, 20, ok, "7"),
			did(claim, 2, 21, 25, ok, "8")}, soldAgain, ""},
		"an unknown return was made": {ops{bought, did(trial.Return, 1, 10, 20, lost, "7"),
			did(claim, 2, 21, 25, ok, "8")}, soldAgain, ""},
		"a unit is sold before its return": {ops{bought, did(claim, 2, 6, 9, ok, "8"),
			did(trial.Return, 1, 10, 20, ok, "7")}, soldAgain, "cannot follow"},
		"another order before the first has ended": {ops{bought, did(claim, 1, 6, 9, ok, "8"),
			did(trial.Return, 1, 10, 20, ok, "7")}, final{initial: 2, stock: 1,
			orders: []rig.Order{gone("7", 1, returned, 15), counting("8", 1)}}, "cannot follow"},
		"a return that nobody asked for": {ops{bought}, gaveUp, "before any request"},
		"a return that was not made": {ops{bought, did(trial.Return, 1, 10, 20, ok, "7")}, sold,
			"contradicts"},
		"sold out after a return": {ops{bought, did(trial.Return, 1, 10, 20, ok, "7"),
			did(claim, 2, 221, 230, none, "")}, gaveUp, "sold out"},
		"told of a returned order as the cache may say it": {ops{bought,
			did(trial.Return, 1, 10, 20, ok, "7"), did(claim, 1, 150, 160, has, "7")}, gaveUp, ""},
		"told of a returned order for longer than that": {ops{bought,
			did(trial.Return, 1, 10, 20, ok, "7"), did(claim, 1, 221, 230, has, "7")}, gaveUp, "told of order"},
		"both count and has ended": {nil, final{orders: []rig.Order{counting("7", 1), gone("7", 1, returned, 15)}},
			"both"},

		"it expires": {ops{bought, did(trial.Use, 1, 10_100, 10_110, "order_expired", "7")}, elapsed, ""},
		"it expires early": {ops{bought}, final{initial: 1, stock: 1, hold: 11 * time.Second,
			orders: elapsed.orders}, "early"},
		"sold out before it expires, and not long after": {ops{bought,
			did(claim, 2, 10_400, 10_410, none, "")}, elapsed, ""},
		"sold out long after it expires": {ops{bought, did(claim, 2, 16_000, 16_010, none, "")},
			elapsed, "sold out"},

		"used": {ops{bought, used("till", 10, 20, ok, "7"),
			used("other", 21, 25, "already_used", "7"), did(trial.Return, 1, 26, 30, "already_used", "7")}, spent, ""},
		"used twice": {ops{bought, used("till", 10, 20, ok, "7"),
			used("other", 21, 25, ok, "7")}, spent, "contradicts"},
		"used and returned": {ops{bought, used("till", 6, 9, ok, "7"),
			did(trial.Return, 1, 10, 20, ok, "7")}, gaveUp, "contradicts"},
		"told of a use before it": {ops{bought, used("other", 6, 9, "already_used", "7"),
			used("till", 10, 20, ok, "7")}, spent, "before any request"},
		"an order that was lost": {ops{bought, used("till", 10, 20, "order_not_found", "7")}, sold,
			"contradicts"},
	} {
		err := check(test.operations, begin, test.end)
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
		v := newRow(nil, seed, "api")
		seen[[2]string{v.Commit, v.Lock}] = true
	}
	if want := len(rig.Commits) * len(locks); len(seen) != want {
		t.Errorf("%d combinations, want %d", len(seen), want)
	}
}
