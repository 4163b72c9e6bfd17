package zklock

import (
	"context"
	"math/rand/v2"
	"net"
	"time"
)

// hosts are the servers of an ensemble by their names. They are looked up each time that the
// client connects: a server that is recreated may have another address, and one that does not
// run may have none. The client's own provider looks them up once.
type hosts struct {
	lookup  func(ctx context.Context, host string) (addresses []string, err error)
	servers []string
	next    int
}

const lookupTimeout = time.Second

// Init implements zk.HostProvider.
func (h *hosts) Init(servers []string) error {
	h.servers = servers
	return nil
}

// Len implements zk.HostProvider.
func (h *hosts) Len() int { return len(h.servers) }

// Next implements zk.HostProvider. It lets the client try the next server at once, where the
// client would otherwise wait for a second after a round of all servers: see session.dial,
// which gets the name if that has no address.
func (h *hosts) Next() (server string, retryStart bool) {
	server = h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return server, false
	}
	addresses, err := h.lookup(ctx, host)
	if err != nil || len(addresses) == 0 {
		return server, false
	}
	return net.JoinHostPort(addresses[rand.N(len(addresses))], port), false //nolint:gosec // any will do
}

// Connected implements zk.HostProvider.
func (h *hosts) Connected() {}
