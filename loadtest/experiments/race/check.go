package race

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/flashsale/internal/lab"
)

// check returns what is wrong with a request, field by field.
func check(r Request) []FieldError {
	c := new(checker)
	c.workload(r.Workload)
	for i, s := range r.Sides {
		c.side(fmt.Sprintf("sides.%d.", i), s, r.Workload)
	}
	return c.wrong
}

type checker struct{ wrong []FieldError }

// require notes what is wrong with field, unless ok.
func (c *checker) require(ok bool, field, message string, args ...any) {
	if !ok {
		c.wrong = append(c.wrong, FieldError{field, fmt.Sprintf(message, args...)})
	}
}

func (c *checker) between(n, lowest, highest int, field string) {
	c.require(n >= lowest && n <= highest, field, "must be between %d and %d", lowest, highest)
}

func (c *checker) oneOf(value string, values []string, field string) {
	c.require(slices.Contains(values, value), field, "must be one of %s", strings.Join(values, ", "))
}

func (c *checker) workload(w Workload) {
	c.between(w.Users, 1, limits.Users, "workload.users")
	c.between(w.ClaimsPerUser, 1, limits.Claims, "workload.claims_per_user")
	c.between(w.Stock, 1, limits.Stock, "workload.stock")
	c.between(w.PauseMS, 0, limits.PauseMS, "workload.pause_ms")
	if len(c.wrong) == 0 {
		c.require(w.Claims() <= limits.Claims, "workload.claims_per_user", "users × claims must be at most %d, not %d",
			limits.Claims, w.Claims())
	}
}

func (c *checker) side(prefix string, s Settings, w Workload) {
	c.oneOf(s.Lock, locks, prefix+"lock")
	c.oneOf(s.LockScope, scopes, prefix+"lock_scope")
	c.oneOf(s.Commit, commits, prefix+"commit")
	c.between(s.Instances, 1, maxInstances, prefix+"instances")
	c.oneOf(s.Redis, lab.Topologies, prefix+"redis")
	for i, g := range s.Guards {
		c.oneOf(g, guards, prefix+"guards")
		c.require(!slices.Contains(s.Guards[:i], g), prefix+"guards", "names %s twice", g)
	}
	c.require(s.Commit == "each" || len(s.guardsOff()) == 0, prefix+"guards",
		"a guard can be removed only with commit each")
	c.require(s.Redis == "single" || s.Lock == "redis" || s.Lock == "redisson", prefix+"redis",
		"matters only to the locks redis and redisson; must be single with the lock %s", s.Lock)
	c.turns(prefix, s, w)
}

// A claim under the lock of its coupon waits for all that came before it, and
// the service gives a claim 36 seconds.
const (
	longestQueue = 30 * time.Second
	turn         = 5 * time.Millisecond // lock, commit, release
)

func (c *checker) turns(prefix string, s Settings, w Workload) {
	if s.LockScope != "coupon" || s.Lock == "none" || len(c.wrong) > 0 {
		return
	}
	queue := time.Duration(w.Claims()) * (turn + time.Duration(w.PauseMS)*time.Millisecond)
	c.require(queue <= longestQueue, prefix+"lock_scope",
		"under a lock per coupon the claims run one after the other: %d claims take some %s, and at most %s are possible; choose fewer claims or a shorter pause",
		w.Claims(), queue.Round(time.Second), longestQueue)
}

// guardsOff returns the guards that are not in force.
func (s Settings) guardsOff() []string {
	return slices.DeleteFunc(slices.Clone(guards), func(g string) bool { return slices.Contains(s.Guards, g) })
}
