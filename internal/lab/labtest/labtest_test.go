package labtest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.EtcdServer) }

func TestEtcdStarts(t *testing.T) {
	t.Parallel()
	labtest.Etcd(t)
}

// Whoever runs a package's tests learns before the first one what is missing, and
// the package fails.
func TestMissingServerIsNamedBeforeAnyTestRuns(t *testing.T) {
	t.Parallel()
	labtest.NeedServers(t)
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^TestEtcdStarts$")
	cmd.Env = append(os.Environ(), "PATH="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the tests ended with %v, want status 1", err)
	}
	if text := string(out); strings.Contains(text, "=== RUN") || !strings.Contains(text, "etcd") ||
		!strings.Contains(text, "run: deploy/install.sh ") {
		t.Errorf("printed %q, want what is missing and no test", text)
	}
}
