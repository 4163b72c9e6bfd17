package race

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/flashsale/internal/lab"
)

// validate returns what is wrong with a request, field by field.
func validate(r Request) []FieldError {
	c := new(checker)
	c.workload(r.Workload)
	c.between(len(r.Sides), 1, limits.Sides, "sides")
	for i, s := range r.Sides {
		c.side(fmt.Sprintf("sides.%d.", i), s, r.Workload)
	}
	return c.wrong
}

type checker struct{ wrong []FieldError }

// require notes what is wrong with field, unless ok. Several sides may find the same of the workload.
func (c *checker) require(ok bool, field string, message Sentence) {
	if wrong := (FieldError{field, message}); !ok && !slices.Contains(c.wrong, wrong) {
		c.wrong = append(c.wrong, wrong)
	}
}

func (c *checker) between(n, lowest, highest int, field string) {
	c.require(n >= lowest && n <= highest, field, sentence("must be between %[1]d and %[2]d", "必须在 %[1]d 到 %[2]d 之间",
		lowest, highest))
}

func (c *checker) oneOf(value string, values []string, field string) {
	c.require(slices.Contains(values, value), field, Sentence{"must be one of " + strings.Join(values, ", "),
		"必须是其中之一：" + strings.Join(values, "、")})
}

func (c *checker) workload(w Workload) {
	c.between(w.Users, 1, limits.Users, "workload.users")
	c.between(w.ClaimsPerUser, 1, limits.Claims, "workload.claims_per_user")
	c.between(w.PerUser, 1, limits.PerUser, "workload.per_user")
	c.between(w.Stock, 1, limits.Stock, "workload.stock")
	c.between(w.Segments, 1, min(limits.Segments, max(1, w.Stock)), "workload.segments")
	c.between(w.PauseMS, 0, limits.PauseMS, "workload.pause_ms")
	if len(c.wrong) == 0 {
		c.require(w.Claims() <= limits.Claims, "workload.claims_per_user",
			sentence("users × claims must be at most %[1]d, not %[2]d", "用户数 × 每人请求数最多 %[1]d，现在是 %[2]d",
				limits.Claims, w.Claims()))
	}
}

func (c *checker) side(prefix string, s Settings, w Workload) {
	c.oneOf(s.Lock, locks, prefix+"lock")
	c.oneOf(s.LockScope, scopes, prefix+"lock_scope")
	c.oneOf(s.Commit, commits, prefix+"commit")
	c.between(s.Instances, 1, len(instances), prefix+"instances")
	c.oneOf(s.Redis, lab.Topologies, prefix+"redis")
	for i, g := range s.Guards {
		c.oneOf(g, guards, prefix+"guards")
		c.require(!slices.Contains(s.Guards[:i], g), prefix+"guards", sentence("names %[1]s twice", "%[1]s 出现了两次", g))
	}
	c.require(s.Commit == "each" || len(s.guardsOff()) == 0, prefix+"guards",
		Sentence{"a guard can be removed only with commit each", "只有提交方式为 each 时才能拆掉保护"})
	c.require(s.Redis == "single" || s.Lock == "redis" || s.Lock == "redisson", prefix+"redis",
		sentence("matters only to the locks redis and redisson; must be single with the lock %[1]s",
			"只对 redis 和 redisson 锁有意义；%[1]s 锁必须选 single", s.Lock))
	c.fault(prefix, s, w)
	c.turns(prefix, s, w)
}

// A claim under the lock of its coupon or segment waits for all that came before it, and
// the service gives a claim 36 seconds.
const (
	longestQueue = 30 * time.Second
	turn         = 5 * time.Millisecond // lock, commit, release
)

func (c *checker) turns(prefix string, s Settings, w Workload) {
	if s.LockScope == "user" || s.Lock == "none" || len(c.wrong) > 0 {
		return
	}
	claims := w.Claims()
	if s.LockScope == "segment" {
		claims /= w.Segments
	}
	queue := time.Duration(claims) * (turn + time.Duration(w.PauseMS)*time.Millisecond)
	c.require(queue <= longestQueue, prefix+"lock_scope", sentence(
		"under this lock %[1]d claims run one after the other, which takes some %[2]d s, and at most %[3]d s are possible; choose fewer claims or a shorter pause",
		"在这把锁下 %[1]d 个请求逐个执行，大约需要 %[2]d 秒，超过上限 %[3]d 秒；请减少请求数或缩短停留时间",
		claims, int(queue.Seconds()), int(longestQueue.Seconds())))
}

// guardsOff returns the guards that are not in force.
func (s Settings) guardsOff() []string {
	return slices.DeleteFunc(slices.Clone(guards), func(g string) bool { return slices.Contains(s.Guards, g) })
}

func sentence(en, zh string, args ...any) Sentence {
	return Sentence{EN: fmt.Sprintf(en, args...), ZH: fmt.Sprintf(zh, args...)}
}
