package lab

import (
	"os"
	"runtime"
	"testing"

	"example.com/flashsale/internal/check"
)

// The packets to one would reach the hosts of the other.
func TestNetworksHaveAddressesOfTheirOwn(t *testing.T) {
	t.Parallel()
	if testing.Short() || runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("network namespaces need Linux and root")
	}
	l, err := Open()
	check.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	n, err := StartNetwork(l)
	check.NoError(t, err)
	if prefix, err := unusedPrefix(n.space.PID()); err != nil || prefix == n.prefix {
		t.Errorf("another network has the addresses %s, too: %v", prefix, err)
	}
}
