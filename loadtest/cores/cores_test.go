package cores

import (
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
)

// allowedToChild returns the cores that a process may use which this one starts.
func allowedToChild(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("sed", "-n", "s/^Cpus_allowed_list:[[:space:]]*//p", "/proc/self/status").Output()
	check.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// It is not parallel: it confines the whole process.
func TestProcessesAreStartedOnOneCore(t *testing.T) {
	servers, clients, err := Two()
	if errors.Is(err, ErrTooFew) {
		t.Skip(err)
	}
	if err != nil || servers == clients {
		t.Fatalf("%d and %d: %v", servers, clients, err)
	}
	before, err := allowed()
	check.NoError(t, err)
	childBefore := allowedToChild(t)
	restore, err := Confine(clients)
	check.NoError(t, err)
	if got := allowedToChild(t); got != strconv.Itoa(clients) {
		t.Errorf("confined to core %d, a process may use %s", clients, got)
	}
	check.NoError(t, restore())
	if after, err := allowed(); err != nil || !slices.Equal(after, before) {
		t.Errorf("cores %v after, %v before: %v", after, before, err)
	}
	if got := allowedToChild(t); got != childBefore {
		t.Errorf("a process may use %s after, %s before", got, childBefore)
	}
}
