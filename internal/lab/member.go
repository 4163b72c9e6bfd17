package lab

import "fmt"

// A member is where a server of a database cluster runs, and the ports that it
// listens on: for clients, for the other members, and, of Galera, for the
// transactions that it has missed.
type member struct {
	host            *Host // nil: in the namespace of this process
	address         string
	sql, group, ist int
}

func (m member) at(port int) string { return fmt.Sprintf("%s:%d", m.address, port) }

// withLocalMembers calls start with members on free ports of this machine until it
// succeeds, at most three times: another process may have taken one of the ports.
func withLocalMembers[G any](n int, start func([]member) (G, error)) (g G, err error) {
	for range 3 {
		var members []member
		if members, err = localMembers(n); err != nil {
			return g, err
		}
		if g, err = start(members); err == nil {
			return g, nil
		}
	}
	return g, err
}

func localMembers(n int) ([]member, error) {
	members := make([]member, n)
	for i := range members {
		members[i].address = "127.0.0.1"
		for _, port := range []*int{&members[i].sql, &members[i].group, &members[i].ist} {
			var err error
			if *port, err = FreePort(); err != nil {
				return nil, err
			}
		}
	}
	return members, nil
}

// membersOn returns a member on each of hosts.
func membersOn(hosts []*Host) (members []member) {
	for _, h := range hosts {
		members = append(members, member{host: h, address: h.Address, sql: 3306, group: 4567, ist: 4568})
	}
	return members
}
