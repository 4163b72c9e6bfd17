package faultproxy

// Partition drops all packets from now on, until Heal, of all connections, in both
// directions: neither side learns that the other closes a connection. New connections are
// accepted, and nothing is forwarded on them either.
func (p *Proxy) Partition() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.healed == nil {
		p.healed = make(chan struct{})
	}
}

// PartitionBefore starts a partition with the next request that contains match.
// The server does not get the request.
func (p *Proxy) PartitionBefore(match string) {
	p.once(match, true, func(*connection) fate { p.Partition(); return undecided })
}

// PartitionAfter starts a partition with the next request that contains match.
// The server gets the request, the client gets no reply.
func (p *Proxy) PartitionAfter(match string) {
	p.once(match, true, func(*connection) fate { p.Partition(); return forwarded })
}

// Partitioned reports whether a partition has started and not been healed.
func (p *Proxy) Partitioned() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.healed != nil
}

// awaitHeal returns when there is no partition.
func (p *Proxy) awaitHeal() {
	p.mu.Lock()
	healed := p.healed
	p.mu.Unlock()
	if healed != nil {
		<-healed
	}
}
