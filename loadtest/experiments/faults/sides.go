package faults

import (
	"context"
	"errors"
	"slices"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
)

var (
	// cutOffMinority cuts the first holder off from less than half of the nodes. In an
	// ensemble these nodes are alone: the others and the second holder lose them, too.
	cutOffMinority = cutOff(func(p []*faultproxy.Proxy, minority int) []*faultproxy.Proxy { return p[:minority] })
	// cutOffMajority leaves the first holder with less than half of the nodes. In an
	// ensemble these have lost the others, and the second holder has them.
	cutOffMajority = cutOff(func(p []*faultproxy.Proxy, minority int) []*faultproxy.Proxy { return p[minority:] })
)

// cutOff cuts the first holder off from the nodes that from returns.
func cutOff(from func(all []*faultproxy.Proxy, minority int) []*faultproxy.Proxy) deed {
	return func(_ context.Context, t *trial) error {
		n := t.minority()
		lost := from(t.a().proxies, n)
		if t.backend.ensemble != nil {
			lost = slices.Concat(lost, t.b().proxies[:n])
		}
		for _, p := range lost {
			p.Partition()
		}
		return t.separate((*lab.Host).Separate)
	}
}

func healCut(ctx context.Context, t *trial) error {
	return errors.Join(t.separate((*lab.Host).Reunite), healNet(ctx, t))
}

// minority is how many nodes can be lost.
func (t *trial) minority() int { return (len(t.nodes) - 1) / 2 }

// separate does what it says to each pair of nodes of an ensemble that are on different
// sides.
func (t *trial) separate(do func(h, other *lab.Host) error) error {
	if t.backend.ensemble == nil {
		return nil
	}
	var errs []error
	for _, alone := range t.nodes[:t.minority()] {
		for _, other := range t.nodes[t.minority():] {
			errs = append(errs, do(alone.host, other.host))
		}
	}
	return errors.Join(errs...)
}
