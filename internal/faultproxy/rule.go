package faultproxy

import "bytes"

// A fate is what becomes of a request or a reply.
type fate int

const (
	forwarded fate = iota
	dropped
	ended     // with its connection
	undecided // its connection decides
)

// A rule strikes requests that contain match. The first rule that matches a request is the
// only one that strikes it.
type rule struct {
	match []byte
	times int // how often it still strikes
	hits  int
	heals bool // ends with Heal
	// strike returns what becomes of the request.
	strike func(*connection) fate
}

// add adds a rule. The caller holds p.mu.
func (p *Proxy) add(match string, times int, heals bool, strike func(*connection) fate) *rule {
	r := &rule{match: []byte(match), times: times, heals: heals, strike: strike}
	p.rules = append(p.rules, r)
	return r
}

// ruleFor returns the rule that strikes request, or nil.
func (p *Proxy) ruleFor(request []byte) *rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rules {
		if r.times == 0 || !bytes.Contains(request, r.match) {
			continue
		}
		r.hits++
		if r.times > 0 {
			r.times--
		}
		return r
	}
	return nil
}

// Reply makes the proxy reply to the next request that contains match, and to
// all later requests of the same connection, as a proxy does that has lost its
// own connection to the server. The server gets the first of these requests
// only. Each request gets the next of texts, and the last of them for ever.
func (p *Proxy) Reply(match string, texts ...[]byte) {
	p.once(match, false, func(c *connection) fate {
		c.answerAll(texts)
		return forwarded
	})
}

// Refuse makes the proxy reply with text to the next request that contains
// match. The server does not get the request.
func (p *Proxy) Refuse(match string, text []byte) {
	p.once(match, false, func(c *connection) fate {
		_, _ = c.client.Write(text)
		return dropped
	})
}

// once adds a rule for the next request that contains match.
func (p *Proxy) once(match string, heals bool, strike func(*connection) fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(match, 1, heals, strike)
}
