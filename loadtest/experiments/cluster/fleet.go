package cluster

import (
	"context"
	"errors"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// unlimitedStock is never sold out.
const unlimitedStock = 10_000_000

// instances is how many instances of the service a fleet has.
const instances = 3

// withFleet creates a sale on m and runs job with its instances, which reach the named
// database by dsn, and the Redis Cluster.
func (r *run) withFleet(
	ctx context.Context, m *lab.MySQL, dsn func(database string) string, job func(*rig.Fleet) error, settings ...string,
) error {
	settings = append([]string{"REDIS_URL=" + r.redis.URL, "LOG_LEVEL=error"}, settings...)
	sale, err := r.stack.NewSaleOn(ctx, m, dsn, settings...)
	if err != nil {
		return err
	}
	return onSale(sale, instances, job)
}

// onSale runs job with n instances, and then stops them and closes the sale.
func onSale(sale *rig.Sale, n int, job func(*rig.Fleet) error) error {
	defer sale.Close()
	f, err := sale.StartFleet("api", lab.StartNginx, make([][]string, n)...)
	if err != nil {
		return err
	}
	return errors.Join(job(f), f.Stop())
}

// offer adds a coupon that is never sold out, and waits until every server has it.
func offer(ctx context.Context, f *rig.Fleet, segments int, servers ...*lab.MySQL) (*buyers, error) {
	id, err := f.AddSplitCoupon(ctx, unlimitedStock, segments)
	if err != nil {
		return nil, err
	}
	for _, m := range servers {
		err := ask(m, f.Name, func(db *sqlx.DB) error {
			return db.GetContext(ctx, new(int64), "SELECT id FROM coupons WHERE id = ?", id)
		})
		if err != nil {
			return nil, err
		}
	}
	return &buyers{coupon: id, users: rig.UserID}, nil
}
