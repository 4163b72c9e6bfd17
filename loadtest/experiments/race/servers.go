package race

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// servers are the servers of a session beside MySQL and Redis. Each is started
// when the first race needs it, and kept.
type servers struct {
	stack *rig.Stack

	mu      sync.Mutex
	started map[string][]string // the settings that name the servers, by what needs them
}

func newServers(stack *rig.Stack) *servers {
	return &servers{stack: stack, started: map[string][]string{}}
}

// settingsFor starts what the lock needs and returns the settings that name it.
func (s *servers) settingsFor(c Settings) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	settings, err := s.once("the lock "+c.Lock, func() ([]string, error) { return s.stack.LockServers(c.Lock) })
	if err != nil || c.Redis == "single" {
		return settings, err
	}
	redis, err := s.once("Redis "+c.Redis, func() ([]string, error) {
		t, err := lab.StartTopology(s.stack.Lab, c.Redis)
		if err != nil {
			return nil, err
		}
		return []string{"REDIS_URL=" + t.URL}, nil
	})
	return slices.Concat(redis, settings), err
}

// once starts what has not been started. The caller has locked s.
func (s *servers) once(name string, start func() ([]string, error)) (settings []string, err error) {
	settings, started := s.started[name]
	if !started {
		if settings, err = start(); err == nil {
			s.started[name] = settings
		}
	}
	return settings, err
}

// A service is the instances of one side, with a database of their own.
type service struct {
	*rig.Fleet
	settings Settings
	coupon   string
	redis    *lab.Server // of the lock

	strikes atomic.Bool
	struck  *Struck // times are microseconds of the wall clock
}

// start starts the service of a side, with its coupon on sale.
func (s *servers) start(ctx context.Context, c Settings, w Workload) (*service, error) {
	settings, err := s.settingsFor(c)
	if err != nil {
		return nil, err
	}
	off := c.guardsOff()
	if w.PerUser > 1 && slices.Contains(off, "unique") {
		off = append(off, "number") // without the key that refuses it twice, a count is what keeps a limit
	}
	settings = append(rig.LabSettings(c.Lock, c.LockScope, c.Commit, off...), settings...)
	settings = append(settings, fmt.Sprintf("CLAIM_PAUSE=%dms", w.PauseMS), fmt.Sprintf("LOCK_TTL=%dms", c.LeaseMS),
		"LOG_LEVEL=error")
	sale, err := s.stack.NewSale(ctx, settings...)
	if err != nil {
		return nil, err
	}
	v := &service{Fleet: &rig.Fleet{Sale: sale}, settings: c, redis: s.stack.Redis.Server}
	if err := v.open(ctx, w, s.stack.Signer().Admin()); err != nil {
		return nil, errors.Join(err, v.stop())
	}
	return v, nil
}

func (v *service) open(ctx context.Context, w Workload, admin string) error {
	fleet, err := v.StartFleet("api", lab.StartNginx, make([][]string, v.settings.Instances)...)
	if err != nil {
		return err
	}
	v.Fleet = fleet
	coupon := rig.CouponFrom(time.Now(), "race", w.Stock)
	coupon.Limit, coupon.Segments = w.PerUser, w.Segments
	v.coupon, err = rig.NewClient(v.Nginx.URL).CreateCoupon(ctx, admin, coupon)
	return err
}

// stop stops the instances and drops the database.
func (v *service) stop() error {
	err := v.Fleet.Stop()
	_, dropErr := v.DB.Exec("DROP DATABASE " + v.Name)
	return errors.Join(err, dropErr, v.Sale.Close())
}
