package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
)

// Reparent makes a tablet of s its primary, while all of them run.
func (v *Vitess) Reparent(ctx context.Context, s *Shard, to *Tablet) error {
	_, err := v.control(ctx, "PlannedReparentShard", s.path, "--new-primary", to.alias())
	return err
}

// Primary returns the tablet that is the primary of s, as the topology has it.
func (v *Vitess) Primary(ctx context.Context, s *Shard) (*Tablet, error) {
	out, err := v.control(ctx, "GetShard", s.path)
	if err != nil {
		return nil, err
	}
	var record struct {
		Shard struct {
			PrimaryAlias struct{ UID int } `json:"primary_alias"`
		}
	}
	if err := json.Unmarshal(out, &record); err != nil {
		return nil, fmt.Errorf("lab: shard %s: %w", s.path, err)
	}
	i := slices.IndexFunc(s.Tablets, func(t *Tablet) bool { return t.uid == record.Shard.PrimaryAlias.UID })
	if i < 0 {
		return nil, fmt.Errorf("lab: shard %s has no primary: %s", s.path, out)
	}
	return s.Tablets[i], nil
}

// copyTimeout is what two busy cores need for the tables of a sale, several times.
const copyTimeout = 5 * time.Minute

// Reshard copies all rows to twice as many shards while the old ones serve, and then makes the new
// ones serve in their place.
func (v *Vitess) Reshard(ctx context.Context) error {
	n := 2 * len(v.Shards)
	targets, err := v.startShards(ranges(n))
	if err != nil {
		return err
	}
	var sources []string
	for _, s := range v.Shards {
		sources = append(sources, s.Name)
	}
	do := func(ctx context.Context, args ...string) error {
		_, err := v.control(ctx, append([]string{
			"Reshard", "--workflow", "split", "--target-keyspace", "flashsale"}, args...)...)
		return err
	}
	err = eventually(func(ctx context.Context) error { // refused until the new tablets are ready
		return do(ctx, "create", "--source-shards", strings.Join(sources, ","),
			"--target-shards", strings.Join(ranges(n), ","))
	})
	if err == nil {
		err = within(copyTimeout, func(ctx context.Context) error { return expectCopies(ctx, targets) })
	}
	if err == nil {
		err = within(copyTimeout, func(ctx context.Context) error { return do(ctx, "switchtraffic") })
	}
	if err == nil {
		v.Shards, err = targets, do(ctx, "complete")
	}
	return err
}

// expectCopies checks that each of shards has all rows. While they are copied Vitess refuses to switch
// traffic, but not before the copy has begun.
func expectCopies(ctx context.Context, shards []*Shard) error {
	for _, s := range shards {
		var all bool
		err := s.Tablets[0].MySQL.withDB(func(db *sqlx.DB) error {
			const q = `SELECT COALESCE(MIN(state = 'Running' AND pos <> ''), FALSE) FROM _vt.vreplication`
			return db.GetContext(ctx, &all, q)
		})
		if err != nil {
			return err
		}
		if !all {
			return fmt.Errorf("lab: not all is copied to shard %s", s.path)
		}
	}
	return nil
}
