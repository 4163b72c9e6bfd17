package faultproxy

import "bytes"

// replies are sent to a client instead of the server's.
type replies struct {
	match []byte // of the first request that gets one
	next  [][]byte
}

// Reply makes the proxy reply to the next request that contains match, and to
// all later requests of the same connection, as a proxy does that has lost its
// own connection to the server. The server gets the first of these requests
// only. Each request gets the next of texts, and the last of them for ever.
func (p *Proxy) Reply(match string, texts ...[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replies = &replies{[]byte(match), texts}
}

// takeReplies returns the replies that start with request, if any.
func (p *Proxy) takeReplies(request []byte) *replies {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.replies
	if r == nil || !bytes.Contains(request, r.match) {
		return nil
	}
	p.replies = nil
	return r
}

// reply sends the proxy's reply to request, if it has one. It reports whether
// the server is to get request.
func (c *connection) reply(request []byte) (forward bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replies == nil {
		if c.replies = c.proxy.takeReplies(request); c.replies == nil {
			return true
		}
		forward = true
	}
	_, _ = c.client.Write(c.replies.next[0])
	if len(c.replies.next) > 1 {
		c.replies.next = c.replies.next[1:]
	}
	return forward
}

// replied reports whether the proxy replies to the connection's requests.
func (c *connection) replied() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replies != nil
}
