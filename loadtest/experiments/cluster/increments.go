package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/trial"
)

// idRequests returns how often a node of Redis has reserved ids: nothing else of the service sets a hash.
func idRequests(ctx context.Context, node *lab.Redis) (n float64, err error) {
	rdb, err := connect.Redis(node.URL, 1)
	if err != nil {
		return 0, err
	}
	defer rdb.Close()
	text, err := rdb.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	if _, after, found := strings.Cut(text, "cmdstat_hset:calls="); found {
		_, err = fmt.Sscanf(after, "%f", &n)
	}
	return n, err
}

// Increments are what the counter of ids allows: its key is on one master.
type Increments struct {
	PerSecond []float64 `json:"per_s"`
	CPU       []float64 `json:"us"` // of that master, for each
}

// increments asks the counter of ids from many clients at once, for one block after the other.
func (r *run) increments(ctx context.Context) (all Increments, err error) {
	rdb, err := connect.Redis(r.redis.URL, buyerCount)
	if err != nil {
		return all, err
	}
	defer rdb.Close()
	pids := pidsOf(r.redis.Nodes[:masters])
	for range turns {
		before, err := lab.CPUTime(pids...)
		if err != nil {
			return all, err
		}
		var made atomic.Int64
		ask := trial.Clients(buyerCount, func(during context.Context, _ int) {
			for during.Err() == nil {
				if _, err := idgen.New(rdb, "order").Next(ctx); err == nil { // a new worker has no block left
					made.Add(1)
				}
			}
		})
		_, err = trial.Schedule{Rest: turnTime}.Run(ctx, ask)
		after, cpuErr := lab.CPUTime(pids...)
		if err := errors.Join(err, cpuErr); err != nil {
			return all, err
		}
		all.PerSecond = append(all.PerSecond, float64(made.Load())/turnTime.Seconds())
		all.CPU = append(all.CPU, float64((after-before).Microseconds())/float64(made.Load()))
	}
	return all, nil
}
