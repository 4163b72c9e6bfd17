package faultproxy

import "bytes"

// A partition drops all packets of all connections, in both directions. Neither
// side learns that the other closes a connection.
type partition struct {
	armed  bool
	match  []byte        // of the request that starts the partition
	after  bool          // the request itself is forwarded
	healed chan struct{} // closed when the partition ends; nil if there is none
}

// Partition drops all packets from now on, until Heal. New connections are
// accepted, and nothing is forwarded on them either.
func (p *Proxy) Partition() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partition.begin()
}

// PartitionBefore starts a partition with the next request that contains match.
// The server does not get the request.
func (p *Proxy) PartitionBefore(match string) { p.arm(match, false) }

// PartitionAfter starts a partition with the next request that contains match.
// The server gets the request, the client gets no reply.
func (p *Proxy) PartitionAfter(match string) { p.arm(match, true) }

func (p *Proxy) arm(match string, after bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partition.armed, p.partition.match, p.partition.after = true, []byte(match), after
}

// Partitioned reports whether a partition has started and not been healed.
func (p *Proxy) Partitioned() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.partition.healed != nil
}

// awaitHeal returns when there is no partition.
func (p *Proxy) awaitHeal() {
	p.mu.Lock()
	healed := p.partition.healed
	p.mu.Unlock()
	if healed != nil {
		<-healed
	}
}

// dropsRequest reports whether request is dropped. It starts the partition that
// waits for request.
func (p *Proxy) dropsRequest(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.partition.healed != nil {
		return true
	}
	if !p.partition.armed || !bytes.Contains(request, p.partition.match) {
		return false
	}
	p.partition.begin()
	return !p.partition.after
}

func (p *partition) begin() {
	p.armed = false
	if p.healed == nil {
		p.healed = make(chan struct{})
	}
}

func (p *partition) end() {
	p.armed = false
	if p.healed != nil {
		close(p.healed)
		p.healed = nil
	}
}
