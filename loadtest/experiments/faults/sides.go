package faults

import (
	"context"
	"errors"
	"slices"

	"example.com/flashsale/internal/lab"
)

// cutOff cuts the first holder off from less than half of the nodes, or leaves it with these
// alone. In an ensemble these nodes have lost the others, and the second holder has lost them.
func cutOff(minority bool) deed {
	return func(_ context.Context, t *trial) error {
		n, lost := t.minority(), t.a().proxies
		if minority {
			lost = lost[:n]
		} else {
			lost = lost[n:]
		}
		if t.backend.elects {
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
	if !t.backend.elects {
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
