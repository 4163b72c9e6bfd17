package main

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
)

// A deployment is two instances of the binary behind nginx.
type deployment struct {
	t      *testing.T
	name   string // of this deployment, with which its instances' names begin
	dsn    string
	a, b   *lab.API
	url    string
	client *http.Client

	mu     sync.Mutex
	acked  []int64       // ids of the orders that were acknowledged to a client
	twenty chan struct{} // closed when twenty orders have been acknowledged
}

// deploy starts a deployment with settings (KEY=value) beside those of the tests.
func deploy(t *testing.T, settings ...string) *deployment {
	t.Helper()
	l := labtest.Lab(t)
	d := &deployment{t: t, name: rand.Text(), dsn: labtest.DSN(t), twenty: make(chan struct{}),
		client: &http.Client{
			Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 1000},
		}}
	redis := labtest.Redis(t)
	instance := func(name string) *lab.API {
		env := append([]string{"MYSQL_DSN=" + d.dsn, "REDIS_URL=" + redis.URL, "JWT_SECRET=" + secret, "LOCK_TTL=1s"},
			settings...)
		i, err := lab.StartAPI(l, labtest.API(t), d.name+name, env...)
		check.NoError(t, err)
		t.Cleanup(i.Kill)
		return i
	}
	d.a, d.b = instance("a"), instance("b")
	nginx, err := lab.StartCrowdNginx(l, "../../deploy/nginx", d.a.Address, d.b.Address)
	check.NoError(t, err)
	t.Cleanup(func() { _ = nginx.Stop() })
	d.url = nginx.URL
	return d
}

// claim claims coupon 1 for a user. It returns the verdict: "made", the code of a
// problem, or "" if there was no response.
func (d *deployment) claim(user int64) string {
	token, err := signer.Sign(auth.Identity{UserID: user}, time.Hour)
	if err != nil {
		d.t.Error(err)
		return ""
	}
	req, err := http.NewRequest("POST", d.url+"/coupons/1/orders", nil)
	if err != nil {
		d.t.Error(err)
		return ""
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := d.client.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("X-Instance"), d.name) {
		return "" // nginx, or an instance of another deployment that took the port of one that was killed
	}
	var body struct {
		ID   int64 `json:",string"`
		Code string
	}
	if json.NewDecoder(res.Body).Decode(&body) != nil || res.StatusCode != http.StatusCreated {
		return body.Code
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.acked = append(d.acked, body.ID); len(d.acked) == 20 {
		close(d.twenty)
	}
	return "made"
}

// Instance a is killed in the middle of a burst. Acknowledged orders remain, no
// user has two, and the other instance sells the rest of the stock.
func TestPromisesHoldWhenAnInstanceIsKilled(t *testing.T) {
	t.Parallel()
	for _, commit := range []string{"grouped", "each"} {
		t.Run(commit, func(t *testing.T) {
			t.Parallel()
			const users, times, stock = 800, 2, 700
			d := deploy(t, "COMMIT="+commit)
			db := d.createCoupon(stock)
			killed := make(chan struct{})
			var wg sync.WaitGroup
			for n := range users * times {
				wg.Go(func() {
					if n%users >= stock/2 { // so that the coupon cannot sell out before
						<-killed
					}
					d.claim(int64(n%users) + 1)
				})
			}
			<-d.twenty
			d.a.Kill()
			close(killed)
			wg.Wait()
			check.AtOnce(users, func(user int64) { // every user retries until there is a verdict
				eventually(t, func() bool {
					return slices.Contains([]string{"made", "already_claimed", "sold_out"}, d.claim(user+1))
				})
			})
			d.audit(db, stock)
		})
	}
}

// createCoupon puts coupon 1 on sale. It returns the database.
func (d *deployment) createCoupon(stock int) *sqlx.DB {
	d.t.Helper()
	db := labtest.Open(d.t, d.dsn)
	now := time.Now()
	c, err := coupon.New(1, "a coupon", now.Add(-time.Hour), now.Add(time.Hour), stock, now)
	if err == nil {
		_, err = coupon.NewStore(db).Create(d.t.Context(), c, 1)
	}
	check.NoError(d.t, err)
	return db
}

func (d *deployment) audit(db *sqlx.DB, stock int) {
	d.t.Helper()
	orders := order.NewStore(db)
	a, err := orders.Audit(d.t.Context(), 1)
	check.NoError(d.t, err)
	if a.Orders != stock || a.Stock != 0 || a.Oversold()+a.Duplicates()+a.Undersold() != 0 {
		d.t.Errorf("audit: %+v", a)
	}
	for _, id := range d.acked {
		if _, err := orders.Find(d.t.Context(), id); err != nil {
			d.t.Errorf("acknowledged order %d: %v\n%s", id, err, d.b.LogTail())
		}
	}
}
