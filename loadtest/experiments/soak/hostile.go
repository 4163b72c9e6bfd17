package soak

import (
	"context"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// maxSlowdown is how many times the p99 of honest claims may grow while hostile
// clients are connected.
const maxSlowdown = 3

// maxNginxMemory is how many MB nginx may take for hostile clients: a quarter of
// what compose gives it.
const maxNginxMemory = 256

// hostility is the p99 of honest claims, in milliseconds: without hostile
// clients, with them, and with them on instances that limit no user. NginxMemory is
// the most that nginx took among them.
type hostility struct {
	Quiet   float64 `json:"quiet_p99_ms"`
	Hostile float64 `json:"hostile_p99_ms"`
	Control float64 `json:"control_p99_ms"`

	NginxMemory float64 `json:"nginx_mb"`
}

// withstood reports whether honest claims were quick enough.
func (h hostility) withstood() bool { return h.Hostile <= maxSlowdown*h.Quiet }

// proves reports whether the hostile clients would have slowed honest claims down
// without the limit of a user.
func (h hostility) proves() bool { return h.Control > maxSlowdown*h.Quiet }

// judge adds what h violates.
func (h hostility) judge(v *trial.Violations) {
	if !h.withstood() {
		v.Add("hostile clients slow honest claims down: p99 %.1f instead of %.1f ms", h.Hostile, h.Quiet)
	}
	if !h.proves() {
		v.Add("hostile clients prove nothing: without a limit per user the p99 is %.1f, quiet it is %.1f ms",
			h.Control, h.Quiet)
	}
	if h.NginxMemory > maxNginxMemory {
		v.Add("nginx took %.0f MB for hostile clients, want at most %d", h.NginxMemory, maxNginxMemory)
	}
}

// Honest claims are sent whether or not earlier ones have a reply.
const (
	honestRate   = 50 // per second
	honestTime   = 4 * time.Second
	hostileStock = 4_000 // more than is claimed
)

// faceHostileClients measures honest claims through nginx among hostile clients.
// The instances of the control sell the same coupon.
func faceHostileClients(ctx context.Context, m *market) (h hostility, err error) {
	m.log("hostile clients")
	memory := lab.SampleMemory(m.Nginx.PID())
	control, err := m.StartFleet("api", lab.StartNginx, []string{"USER_RATE=0"}, []string{"USER_RATE=0"})
	if err != nil {
		return h, err
	}
	id, err := m.AddCoupon(ctx, hostileStock)
	if err != nil {
		return h, err
	}
	m.coupons.add(coupon{id: id})
	unlimited := trial.NewClient("nginx", control.Address(), m.Client.Signer, &m.History)
	err = verdict.Repeat(func() (verdict.Verdict, error) { // a busy machine can disturb one measurement
		if h.Quiet, err = honestP99(ctx, m, m.Client, id); err != nil {
			return "", err
		}
		if h.Hostile, err = attackedP99(ctx, m, m.Client, id); err != nil {
			return "", err
		}
		if h.Control, err = attackedP99(ctx, m, unlimited, id); err != nil {
			return "", err
		}
		m.log("p99 of honest claims: %.1f ms quiet, %.1f ms among hostile clients, %.1f ms without a limit per user",
			h.Quiet, h.Hostile, h.Control)
		return verdict.Of(false, false, h.withstood() && h.proves()), nil
	})
	if err != nil {
		return h, err
	}
	if h.NginxMemory, err = memory(); err != nil {
		return h, err
	}
	h.judge(&m.Violations)
	return h, control.Stop()
}

// attackedP99 is honestP99 while hostile clients are connected.
func attackedP99(ctx context.Context, m *market, c trial.Client, coupon int64) (float64, error) {
	attackCtx, stop := context.WithCancel(ctx)
	wait := attack(attackCtx, m, c, coupon)
	rig.Sleep(ctx, time.Second) // until all are connected
	p99, err := honestP99(ctx, m, c, coupon)
	stop()
	wait()
	return p99, err
}

// honestP99 claims for new users, and returns the p99 in milliseconds.
func honestP99(ctx context.Context, m *market, c trial.Client, coupon int64) (float64, error) {
	claims, err := c.Claims(ctx, generator.Phase{Rate: honestRate, Duration: honestTime},
		func(int) rig.Claim { return rig.Claim{User: m.newUser(), Coupon: coupon} })
	for _, got := range claims {
		if !trial.Accepted(got) && err == nil {
			m.Violations.Add("among hostile clients, an honest claim got %s", got.Verdict)
		}
	}
	return rig.Milliseconds(rig.Burst{Claims: claims}.Latency(0.99)), err
}
