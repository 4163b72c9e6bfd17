package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// An Ensemble is three servers that elect a leader and go on as long as two of
// them can reach each other. Each has a host of its own.
type Ensemble struct{ Members []*Member }

// A Member is a server of an ensemble.
type Member struct {
	*Server
	Host *Host
	// Address is the host:port for clients.
	Address string

	peers []*Host // of all members
	leads func(context.Context) (bool, error)
}

const members = 3

// startEnsemble starts all members at once, because none is ready alone.
func startEnsemble(
	l *Lab, d *Dependency, name string, port int,
	program func(m *Member, dir string, id int) (Program, error),
) (*Ensemble, error) {
	network, err := StartNetwork(l)
	if err != nil {
		return nil, err
	}
	hosts, err := startEach(members, func(int) (*Host, error) { return network.Host() })
	if err != nil {
		return nil, err
	}
	e := &Ensemble{Members: make([]*Member, members)}
	var starts errgroup.Group
	for i, h := range hosts {
		m := &Member{Host: h, peers: hosts, Address: fmt.Sprintf("%s:%d", h.Address, port)}
		e.Members[i] = m
		p, err := l.program(d, name, func(dir string) (Program, error) { return program(m, dir, i+1) })
		if err != nil {
			return nil, err
		}
		p.Address = m.Address
		starts.Go(func() (err error) {
			m.Server, err = l.Start(h.On(p))
			return err
		})
	}
	return e, starts.Wait()
}

// Addresses returns the addresses of all members.
func (e *Ensemble) Addresses() []string {
	var addresses []string
	for _, m := range e.Members {
		addresses = append(addresses, m.Address)
	}
	return addresses
}

// Leader returns the member that leads, as soon as one does. Members that do not
// reply are passed over.
func (e *Ensemble) Leader() (leader *Member, err error) {
	err = eventually(func(ctx context.Context) error {
		var errs []error
		for _, m := range e.Members {
			leads, err := m.leadsWithin(ctx, time.Second)
			if leads {
				leader = m
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(append(errs, errors.New("no member leads"))...)
	})
	return leader, err
}

func (m *Member) leadsWithin(ctx context.Context, timeout time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return m.leads(ctx)
}

// Disconnect makes the switch drop all packets from and to m.
func (m *Member) Disconnect() error { return m.Host.Disconnect() }

// Rejoin connects m after Disconnect, and returns when it serves as a member: until
// then the others cannot lose another one.
func (m *Member) Rejoin() error {
	if err := m.Host.Connect(); err != nil {
		return err
	}
	return m.awaitReady()
}

// Kill ends all members.
func (e *Ensemble) Kill() { killAll(e.Members) }
