package cluster

import (
	"context"
	"errors"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// unlimitedStock is never sold out.
const unlimitedStock = 10_000_000

// instances is how many instances of the service a fleet has.
const instances = 3

// A fleet is the service with a sale of its own: instances behind nginx, in front
// of a database proxy and the Redis Cluster.
type fleet struct {
	*rig.Fleet
	sale *rig.Sale
}

// withFleet creates a sale on m and runs job with its instances, which reach the named
// database by dsn.
func (r *run) withFleet(
	ctx context.Context, m *lab.MySQL, dsn func(database string) string, job func(*fleet) error, settings ...string,
) error {
	settings = append([]string{"REDIS_URL=" + r.redis.URL, "LOG_LEVEL=error"}, settings...)
	sale, err := r.stack.NewSaleOn(ctx, m, dsn, settings...)
	if err != nil {
		return err
	}
	defer sale.Close()
	f, err := sale.StartFleet("api", lab.StartNginx, make([][]string, instances)...)
	if err != nil {
		return err
	}
	return errors.Join(job(&fleet{f, sale}), f.Stop())
}
