package bench

import (
	"database/sql"
	"net/http"
	"os"

	"github.com/go-chi/chi/v5"
	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
)

// A floorServer is the least that makes a claim wait for what each claim waits for: a
// reply of Redis, and a flush of the database that is shared with the claims that came
// during the one before. It takes no stock and has no orders. What stalls it stalls any
// service that promises as much on this machine.
type floorServer struct {
	db      *sql.DB
	rdb     *redis.Client
	waiting chan claimOfFloor
}

type claimOfFloor struct {
	coupon string
	done   chan error
}

// floorBatch is how many claims share a flush at most.
const floorBatch = 512

func newFloorServer() (*floorServer, error) {
	config, err := mysql.ParseDSN(os.Getenv("MYSQL_DSN"))
	if err != nil {
		return nil, err
	}
	config.InterpolateParams = true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		return nil, err
	}
	options.PoolSize = baselineRedisConns
	f := &floorServer{sql.OpenDB(connector), redis.NewClient(options), make(chan claimOfFloor, floorBatch)}
	go f.flush()
	return f, nil
}

func (f *floorServer) handleClaim(w http.ResponseWriter, r *http.Request) {
	err := f.rdb.Ping(r.Context()).Err()
	if err == nil {
		c := claimOfFloor{chi.URLParam(r, "id"), make(chan error, 1)}
		f.waiting <- c
		err = <-c.done
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

// flush commits one change for all claims that wait, again and again.
func (f *floorServer) flush() {
	for first := range f.waiting {
		batch := []claimOfFloor{first}
		for len(batch) < floorBatch && len(f.waiting) > 0 {
			batch = append(batch, <-f.waiting)
		}
		_, err := f.db.Exec(`UPDATE coupons SET version = version + 1 WHERE id = ?`, first.coupon)
		for _, c := range batch {
			c.done <- err
		}
	}
}
