package labtest

import (
	"os/exec"
	"testing"
)

// BuildAPI builds the service as file. It has go test's own flags, so that the
// packages which tests of the service have compiled are only linked.
func BuildAPI(tb testing.TB, file string) {
	tb.Helper()
	NeedServers(tb)
	build := exec.Command("go", "build", "-o", file, "example.com/flashsale/cmd/api")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build %s: %v: %s", file, err, out)
	}
}
