package commit

// A batch is the orders that share a transaction.
type batch struct {
	parts   []part
	orders  []*pending         // of all parts; those of a coupon in order of arrival
	placed  []*pending         // are durable once the transaction is committed
	refused map[*pending]error // the verdicts on the others
}

// A part is the orders of one coupon in a batch.
type part struct {
	queue  *queue
	orders []*pending
}

func (b *batch) add(p part) {
	b.parts, b.orders = append(b.parts, p), append(b.orders, p.orders...)
}
