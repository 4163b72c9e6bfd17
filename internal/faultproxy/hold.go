package faultproxy

import (
	"bytes"
	"sync"
)

// A HeldRequest is a request that reaches the server late, perhaps after its
// client has given up.
type HeldRequest struct {
	match     []byte
	caught    chan struct{}
	delivered chan struct{}
	deliver   func()
}

// Hold keeps the next request that contains match, and what follows it on its
// connection, until Deliver is called. Other connections are not affected.
func (p *Proxy) Hold(match string) *HeldRequest {
	h := &HeldRequest{match: []byte(match), caught: make(chan struct{}), delivered: make(chan struct{})}
	h.deliver = sync.OnceFunc(func() { close(h.delivered) })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = h
	return h
}

// Caught reports whether there is a request.
func (h *HeldRequest) Caught() bool {
	select {
	case <-h.caught:
		return true
	default:
		return false
	}
}

// Deliver forwards the request, if there is one. It must be called before the
// end of the test.
func (h *HeldRequest) Deliver() { h.deliver() }

// awaitDelivery blocks while request is held.
func (p *Proxy) awaitDelivery(request []byte) {
	p.mu.Lock()
	h := p.hold
	caught := h != nil && bytes.Contains(request, h.match)
	if caught {
		p.hold = nil
	}
	p.mu.Unlock()
	if caught {
		close(h.caught)
		<-h.delivered
	}
}
