package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// A Network is an Ethernet switch with hosts, each in a network namespace of its
// own. This process is connected to it as well. It needs Linux and root.
//
// The namespaces exist as long as their processes, which end with the lab.
type Network struct {
	lab    *Lab
	space  namespace // of the bridge
	prefix string    // of all addresses: the first three bytes
	hosts  int
}

// A Host is a machine of its own, as far as the network is concerned.
type Host struct {
	// Address is the IP address.
	Address string

	space   namespace
	network *Network
	port    string // of the bridge
}

// A namespace is a network namespace. Its server sleeps.
type namespace struct{ *Server }

// StartNetwork starts a network without hosts.
func StartNetwork(l *Lab) (*Network, error) {
	if _, err := l.path(NetworkTools); err != nil {
		return nil, err
	}
	space, err := startNamespace(l)
	if err != nil {
		return nil, fmt.Errorf("lab: network namespaces need Linux and root: %w", err)
	}
	pid := space.PID()
	prefix, err := unusedPrefix(pid)
	if err != nil {
		return nil, err
	}
	n := &Network{lab: l, space: space, prefix: prefix}
	uplink := "lab" + strconv.Itoa(pid)
	return n, errors.Join(
		space.ip("link add bridge type bridge"), space.ip("link set bridge up"),
		run("ip", "link add "+uplink+" type veth peer name uplink netns "+strconv.Itoa(pid)),
		space.ip("link set uplink master bridge up"),
		run("ip", "addr add "+n.prefix+"1/24 dev "+uplink), run("ip", "link set "+uplink+" up"))
}

// unusedPrefix returns a prefix that depends on n, and that no address of this machine has: another
// lab may have a network as well. Such addresses are reserved for tests of networks (RFC 2544).
func unusedPrefix(n int) (string, error) {
	used, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for ; ; n++ {
		prefix := fmt.Sprintf("198.%d.%d.", 18+n>>8&1, n&255)
		if !slices.ContainsFunc(used, func(a net.Addr) bool { return strings.HasPrefix(a.String(), prefix) }) {
			return prefix, nil
		}
	}
}

// Address is the address of this process.
func (n *Network) Address() string { return n.prefix + "1" }

// Host adds a host.
func (n *Network) Host() (*Host, error) {
	space, err := startNamespace(n.lab)
	if err != nil {
		return nil, err
	}
	n.hosts++
	h := &Host{Address: fmt.Sprintf("%s%d", n.prefix, 10+n.hosts), space: space, network: n,
		port: fmt.Sprintf("host%d", n.hosts)}
	return h, errors.Join(
		n.space.ip("link add "+h.port+" type veth peer name eth0 netns "+strconv.Itoa(space.PID())),
		n.space.ip("link set "+h.port+" up"), h.Connect(),
		space.ip("addr add "+h.Address+"/24 dev eth0"), space.ip("link set eth0 up"), space.ip("link set lo up"))
}

// Disconnect makes the switch drop all packets from and to the host. Neither side
// is told.
func (h *Host) Disconnect() error { return h.network.space.ip("link set " + h.port + " nomaster") }

// Connect ends Disconnect.
func (h *Host) Connect() error { return h.network.space.ip("link set " + h.port + " master bridge") }

// unusedMAC is a hardware address that no host has.
const unusedMAC = "02:00:00:00:00:01"

// Separate loses all packets between the hosts. Neither is told. Others still reach
// both.
func (h *Host) Separate(other *Host) error {
	return errors.Join(h.neighbour("replace "+other.Address+" lladdr "+unusedMAC+" nud permanent"),
		other.neighbour("replace "+h.Address+" lladdr "+unusedMAC+" nud permanent"))
}

// Reunite ends Separate.
func (h *Host) Reunite(other *Host) error {
	return errors.Join(h.neighbour("del "+other.Address), other.neighbour("del "+h.Address))
}

// neighbour changes which hardware address the host has for another's IP address.
func (h *Host) neighbour(args string) error { return h.space.ip("neigh " + args + " dev eth0") }

// On returns p such that it runs on h. A nil host is the namespace of this
// process.
func (h *Host) On(p Program) Program {
	if h != nil {
		p.Path, p.Args = "nsenter", append([]string{h.space.path(), p.Path}, p.Args...)
	}
	return p
}

// startNamespace starts a process in a new namespace.
func startNamespace(l *Lab) (namespace, error) {
	path, err := LookPath("unshare")
	if err != nil {
		return namespace{}, err
	}
	s, err := l.serve(nil, "namespace", func(dir string) (Program, error) {
		return Program{
			Path: path, Args: []string{"--net", "sh", "-c", "echo ready; exec sleep infinity"},
			Ready: func(context.Context) error {
				if text := tail(dir + "/namespace.log"); !strings.HasPrefix(text, "ready") {
					return errors.New(text)
				}
				return nil
			},
		}, nil
	})
	return namespace{s}, err
}

// path is the argument of nsenter.
func (n namespace) path() string { return fmt.Sprintf("--net=/proc/%d/ns/net", n.PID()) }

// ip runs the program ip in the namespace.
func (n namespace) ip(args string) error { return run("nsenter", n.path()+" ip "+args) }

// run runs a program, whose arguments contain no space.
func run(program, args string) error {
	path, err := LookPath(program)
	if err != nil {
		return err
	}
	out, err := exec.Command(path, strings.Fields(args)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, args, err, strings.TrimSpace(string(out)))
	}
	return nil
}
