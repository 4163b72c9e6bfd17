package faultproxy

import (
	"bytes"
	"slices"
)

// replies are sent to a client instead of the server's.
type replies struct {
	match   []byte // of the first request that gets one
	texts   [][]byte
	forever bool
}

// Reply makes the proxy reply to the next request that contains match, and to
// all later requests of the same connection, as a proxy does that has lost its
// own connection to the server. The server gets the first of these requests
// only. Each request gets the next of texts, and the last of them for ever.
func (p *Proxy) Reply(match string, texts ...[]byte) {
	p.addReplies(&replies{[]byte(match), texts, true})
}

// Refuse makes the proxy reply with text to the next request that contains
// match. The server does not get the request.
func (p *Proxy) Refuse(match string, text []byte) {
	p.addReplies(&replies{[]byte(match), [][]byte{text}, false})
}

func (p *Proxy) addReplies(r *replies) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replies = append(p.replies, r)
}

// takeReplies returns the replies that start with request, if any.
func (p *Proxy) takeReplies(request []byte) *replies {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.replies {
		if bytes.Contains(request, r.match) {
			p.replies = slices.Delete(p.replies, i, i+1)
			return r
		}
	}
	return nil
}

// reply sends the proxy's reply to request, if it has one. It reports whether
// the server is to get request.
func (c *connection) reply(request []byte) (forward bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, first := c.replies, false
	if r == nil {
		if r = c.proxy.takeReplies(request); r == nil {
			return true
		}
		first = true
	}
	if r.forever {
		c.replies = r
	}
	_, _ = c.client.Write(r.texts[0])
	if len(r.texts) > 1 {
		r.texts = r.texts[1:]
	}
	return first && r.forever
}

// replied reports whether the proxy replies to the connection's requests.
func (c *connection) replied() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replies != nil
}
