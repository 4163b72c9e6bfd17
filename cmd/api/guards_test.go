package main

import (
	"fmt"
	"strings"
	"testing"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

// A schema changes under a service.
func TestInstancesThatFindAGuardGoneStopSellingUntilItIsBack(t *testing.T) {
	t.Parallel()
	env := environ(t, map[string]string{"LOCK": "none"})
	instances := []*instance{start(t, env).ready(t), start(t, env).ready(t)}
	db := labtest.Open(t, env["MYSQL_DSN"])
	id := instances[0].createCoupon(t, 1000)
	const with, without = `DROP KEY one_each, ADD UNIQUE KEY one_each (coupon_id, user_id, number)`,
		`DROP KEY one_each, ADD UNIQUE KEY one_each (coupon_id, user_id, created_at)`
	for round, gone := range []string{without, `ENGINE = MyISAM`} {
		db.MustExec(`ALTER TABLE coupon_orders ` + gone)
		for _, i := range instances {
			eventually(t, func() bool { // on a busy machine a late reply of a server is 503 too
				r := i.get(t, "/readyz", "")
				return r.status == 503 && strings.Contains(r.text, `"guards":"unavailable"`)
			})
			if !strings.Contains(i.get(t, "/metrics", "").text, `flashsale_dependency_up{dependency="guards"} 0`) {
				t.Error("no metric says that a guard is missing")
			}
		}
		check.AtOnce(40, func(n int64) {
			r := instances[n%2].post(t, "/coupons/"+id+"/orders", tokenFor(t, n/2+1, auth.RoleUser), "")
			if r.status != 503 || r.body["code"] != "unavailable" {
				t.Errorf("a claim without the guard: %d %s", r.status, r.text)
			}
		})
		db.MustExec(`ALTER TABLE coupon_orders ENGINE = InnoDB, ` + with)
		for _, i := range instances {
			i.ready(t)
			path, token := "/coupons/"+id+"/orders", tokenFor(t, int64(100+round), auth.RoleUser)
			if r := i.eventuallyPost(t, path, token, ""); i == instances[0] && r.status != 201 {
				t.Errorf("with the guard back, a claim: %d %s", r.status, r.text)
			}
			if n := strings.Count(i.log.String(), `"dependency":"guards","error"`); n != round+1 {
				t.Errorf("the log says %d times that a guard is missing", n)
			}
		}
		var orders int
		if err := db.Get(&orders, `SELECT COUNT(*) FROM coupon_orders`); err != nil || orders != round+1 {
			t.Error(fmt.Sprint(orders), err)
		}
	}
	if !strings.Contains(instances[0].log.String(), "created_at") { // of the wrong key, in no other entry
		t.Error("the log does not say what is missing")
	}
}
