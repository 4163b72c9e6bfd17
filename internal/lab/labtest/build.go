package labtest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// API returns the path of the service's executable, which is built when it is called first.
var API = shares(func(l *lab.Lab) (string, error) {
	dir, err := l.Dir("bin")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "api")
	return file, build(file)
})

// BuildAPI builds the service as file.
func BuildAPI(tb testing.TB, file string) {
	tb.Helper()
	NeedServers(tb)
	check.NoError(tb, build(file))
}

// build has go test's own flags, so that the packages which tests of the service have compiled are
// only linked.
func build(file string) error {
	out, err := exec.Command("go", "build", "-o", file, "example.com/flashsale/cmd/api").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build %s: %w: %s", file, err, out)
	}
	return nil
}
