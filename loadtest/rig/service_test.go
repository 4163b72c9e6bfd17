package rig

import (
	"math"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/drivers"
)

// Commands install LockDependencies. A lab that may run nothing else can start the
// servers of each driver.
func TestLockDependenciesHaveTheServersOfEachDriver(t *testing.T) {
	t.Parallel()
	labtest.NeedServers(t)
	l, err := lab.Open()
	check.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	check.NoError(t, l.Require(LockDependencies...))
	s := &Stack{Lab: l}
	for _, name := range drivers.Remote {
		if _, err := s.LockServers(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFullDiskIsSaidBeforeAServerStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := checkDisk(dir, math.MaxInt64); err == nil || !strings.Contains(err.Error(), dir+" has ") ||
		!strings.Contains(err.Error(), "TMPDIR names another directory") {
		t.Errorf("%v", err)
	}
	if err := checkDisk(dir, 0); err != nil {
		t.Error(err)
	}
}
