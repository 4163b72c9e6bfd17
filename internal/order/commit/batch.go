package commit

import (
	"iter"

	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/events"
)

// A batch is the orders that share a transaction.
type batch struct {
	outbox  events.Outbox
	parts   []part             // in the order in which all transactions lock their stocks
	orders  []*pending         // of all parts; those of a segment in order of arrival
	placed  []*pending         // are durable once the transaction is committed
	refused map[*pending]error // the verdicts on the others
}

// A part is the orders of one segment in a batch.
type part struct {
	queue  *queue
	orders []*pending
}

// ordersOf yields the orders of pending ones.
func ordersOf(all []*pending) iter.Seq[order.Order] {
	return func(yield func(order.Order) bool) {
		for _, p := range all {
			if !yield(p.Order) {
				return
			}
		}
	}
}

func (b *batch) add(p part) {
	b.parts, b.orders = append(b.parts, p), append(b.orders, p.orders...)
}
