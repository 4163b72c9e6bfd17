package main

import (
	"context"
	"errors"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// drainDelay returns the setting of docker-compose.yml.
func drainDelay(t *testing.T) string {
	t.Helper()
	compose := readFile(t, "../../docker-compose.yml")
	delay := regexp.MustCompile(`(?m)^ +DRAIN_DELAY: (\S+)`).FindStringSubmatch(compose)
	if delay == nil {
		t.Fatal("docker-compose.yml sets no DRAIN_DELAY")
	}
	return "DRAIN_DELAY=" + delay[1]
}

// nginx does not repeat a claim, not even one that it wrote to an idle connection
// while the instance was closing it.
func TestRollingUpdateFailsNoClaim(t *testing.T) {
	t.Parallel()
	d := deploy(t, drainDelay(t), "LOCK_TTL=30s", "CLAIM_TIMEOUT=8s") // a busy machine takes its time
	d.createCoupon(1_000_000)
	var (
		wg     sync.WaitGroup
		claims atomic.Int64
	)
	updating, updated := context.WithCancel(t.Context())
	defer updated()
	for range 32 {
		wg.Go(func() {
			for updating.Err() == nil {
				if verdict := d.claim(claims.Add(1)); verdict != "made" {
					t.Errorf("during the update a claim gets %q\n%s\n%s", verdict, d.a.LogTail(), d.b.LogTail())
				}
			}
		})
	}
	<-d.twenty
	for _, instance := range []*lab.API{d.a, d.b} {
		check.NoError(t, errors.Join(instance.Stop(), instance.Restart()))
	}
	updated()
	wg.Wait()
	t.Logf("%d claims", claims.Load())
}
