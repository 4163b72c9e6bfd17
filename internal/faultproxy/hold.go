package faultproxy

import "sync"

// A HeldRequest is a request that reaches the server late, perhaps after its
// client has given up.
type HeldRequest struct {
	caught    chan struct{}
	delivered chan struct{}
	deliver   func()
}

// Hold keeps the next request that contains match, and what follows it on its
// connection, until Deliver is called. Other connections are not affected.
func (p *Proxy) Hold(match string) *HeldRequest {
	h := &HeldRequest{caught: make(chan struct{}), delivered: make(chan struct{})}
	h.deliver = sync.OnceFunc(func() { close(h.delivered) })
	p.once(match, false, func(*connection) fate {
		close(h.caught)
		<-h.delivered
		return undecided
	})
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
