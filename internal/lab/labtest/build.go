package labtest

import (
	"fmt"
	"os/exec"
	"path/filepath"

	"example.com/flashsale/internal/lab"
)

// API returns the path of the service's executable, which is built when it is called first.
var API = Shares(func(l *lab.Lab) (string, error) {
	dir, err := l.Dir("bin")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "api")
	return file, Build(file)
})

// Build builds the service as file. It has go test's own flags, so that the packages which tests of
// the service have compiled are only linked.
func Build(file string) error {
	out, err := exec.Command("go", "build", "-o", file, "example.com/flashsale/cmd/api").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build %s: %w: %s", file, err, out)
	}
	return nil
}
