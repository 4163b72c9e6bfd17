package race

import (
	"context"
	"slices"
	"sync"
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

// A striker injects the fault of a side once a claim is in its section.
type striker struct {
	service *service
	redis   *rig.Stack
	fault   string
	lease   time.Duration

	once     sync.Once
	ended    sync.WaitGroup
	instance string
	from, to time.Time
	err      error
}

// strike injects the fault in the background, the first time that it is called.
func (s *striker) strike(ctx context.Context, instance int) {
	if s.fault == noFault {
		return
	}
	s.once.Do(func() {
		s.instance = rig.InstanceName(instance)
		f := s.of(instance)
		s.ended.Go(func() { s.from, s.to, s.err = f.Inject(ctx) })
	})
}

func (s *striker) of(instance int) fault.Fault {
	if s.fault == emptied {
		return fault.Kill(s.fault, 0, s.redis.Redis.Server)
	}
	return fault.Suspend(s.fault, s.lease*3/2, s.service.Instances[instance].Server)
}

// wait waits until the fault is healed, and returns it, or nil if none has struck.
func (s *striker) wait(barrier time.Time) (*Struck, error) {
	s.ended.Wait()
	if s.instance == "" || s.err != nil {
		return nil, s.err
	}
	return &Struck{s.instance, s.from.Sub(barrier).Microseconds(), s.to.Sub(barrier).Microseconds()}, nil
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
