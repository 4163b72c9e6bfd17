package faults

import (
	"context"
	"slices"
	"sync"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/holder"
	"example.com/flashsale/loadtest/witness"
)

// A fencedTable says which writes its fence refuses. Its server starts with the first trial
// that needs it, and serves the whole run.
type fencedTable func() (*witness.Witness, error)

func newFencedTable(ctx context.Context, l *lab.Lab) fencedTable {
	return sync.OnceValues(func() (*witness.Witness, error) {
		m, err := lab.StartMySQL(l)
		if err != nil {
			return nil, err
		}
		return witness.Open(ctx, m)
	})
}

// refused makes the writes of both holders, in their order, and returns those that the
// table refused. A holder writes at once when it has acquired.
func (t fencedTable) refused(ctx context.Context, a, b []holder.Line) (map[holder.Line]bool, error) {
	writes := slices.DeleteFunc(slices.Concat(a, b), func(l holder.Line) bool { return l.Fence == 0 })
	if len(writes) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(writes, func(l, m holder.Line) int { return int(l.At - m.At) })
	table, err := t()
	if err != nil {
		return nil, err
	}
	fences := make([]uint64, len(writes))
	for i, l := range writes {
		fences[i] = l.Fence
	}
	all, err := table.Refused(ctx, fences...)
	refused := map[holder.Line]bool{}
	for i, was := range all {
		refused[writes[i]] = was
	}
	return refused, err
}
