package race

import (
	"context"
	"slices"
	"time"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
)

// The faults that may strike a side while a claim is in its critical section: its
// instance is suspended for one and a half times the lease; the lock's Redis is
// killed, and restarted without its data.
const (
	noFault   = "none"
	suspended = "suspended"
	emptied   = "emptied"
)

var faults = []string{noFault, suspended, emptied}

// A Struck is the fault of a side: from when to when, and in which instance the first
// claim had been in its section.
type Struck struct {
	Instance string `json:"instance"`
	From     int64  `json:"from"` // as all times of a side
	To       int64  `json:"to"`
}

// strike injects the fault of the side while a claim is in its section in the i-th instance. It
// does so once.
func (v *service) strike(ctx context.Context, i int) error {
	s := v.settings
	if s.Fault == noFault || v.strikes.Swap(true) {
		return nil
	}
	f := fault.Suspend(s.Fault, time.Duration(s.LeaseMS)*time.Millisecond*3/2, v.Instances[i].Server)
	if s.Fault == emptied {
		f = fault.Kill(s.Fault, 0, v.redis)
	}
	from, to, err := f.Inject(ctx)
	v.struck = &Struck{rig.InstanceName(i), from.UnixMicro(), to.UnixMicro()}
	return err
}

// fault requires that a fault can strike, and be seen.
func (c *checker) fault(prefix string, s Settings, w Workload) {
	c.oneOf(s.Fault, faults, prefix+"fault")
	c.between(s.LeaseMS, 1000, 30000, prefix+"lease_ms")
	if s.Fault == noFault {
		return
	}
	c.require(slices.Contains([]string{"redis", "redisson"}, s.Lock) && s.Redis == "single" ||
		s.Fault == suspended && s.Lock != "none" && s.Lock != "local", prefix+"fault",
		Sentence{"is possible only with the lock redis or redisson on a single Redis; an instance is suspended also with another lock of all instances",
			"只能用于单机 Redis 上的 redis 或 redisson 锁；“持有者停顿”也可用于其他分布式锁"})
	c.require(s.LeaseMS <= 5000, prefix+"lease_ms",
		Sentence{"must be at most 5000 with a fault, which lasts for a part of it", "有故障时最多 5000，故障持续时间由它决定"})
	c.require(w.PauseMS >= 100, "workload.pause_ms",
		Sentence{"must be at least 100 with a fault: it strikes while a claim is in its critical section",
			"有故障时至少 100：故障发生在请求处于临界区内时"})
}
