package race

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// A service is the instances of one side, with a database of their own.
type service struct {
	*rig.Fleet
	settings Settings
	coupon   string
	redis    *lab.Server // of the lock

	strikes atomic.Bool
	struck  *Struck // times are microseconds of the wall clock
}

// startService starts the service of a side, with its coupon on sale.
func (s *session) startService(ctx context.Context, c Settings, w Workload) (*service, error) {
	servers, err := s.stack.LockServers(c.Lock)
	redis, redisErr := s.stack.RedisServers(c.Redis)
	if err := errors.Join(err, redisErr); err != nil {
		return nil, err
	}
	off := c.guardsOff()
	if w.PerUser > 1 && slices.Contains(off, "unique") {
		off = append(off, "number") // without the key that refuses it twice, a count is what keeps a limit
	}
	settings := slices.Concat(rig.LabSettings(c.Lock, c.LockScope, c.Commit, off...), redis, servers, []string{
		fmt.Sprintf("CLAIM_PAUSE=%dms", w.PauseMS), fmt.Sprintf("LOCK_TTL=%dms", c.LeaseMS), "LOG_LEVEL=error",
	})
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
