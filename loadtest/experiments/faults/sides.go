package faults

import (
	"context"
	"errors"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
)

// cutOffMinority cuts the first holder off from less than half of the nodes. In an
// ensemble these nodes are alone: the others and the second holder lose them, too.
func cutOffMinority(_ context.Context, t *trial) error {
	n := t.minority()
	cutOff(t.a().proxies[:n])
	if t.backend.ensemble != nil {
		cutOff(t.b().proxies[:n])
	}
	return t.separate((*lab.Host).Separate)
}

// cutOffMajority leaves the first holder with less than half of the nodes. In an
// ensemble these have lost the others, and the second holder has them.
func cutOffMajority(_ context.Context, t *trial) error {
	n := t.minority()
	cutOff(t.a().proxies[n:])
	if t.backend.ensemble != nil {
		cutOff(t.b().proxies[:n])
	}
	return t.separate((*lab.Host).Separate)
}

func healCut(ctx context.Context, t *trial) error {
	return errors.Join(t.separate((*lab.Host).Reunite), healNet(ctx, t))
}

// minority is how many nodes can be lost.
func (t *trial) minority() int { return (len(t.nodes) - 1) / 2 }

func cutOff(proxies []*faultproxy.Proxy) {
	for _, p := range proxies {
		p.Partition()
	}
}

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
