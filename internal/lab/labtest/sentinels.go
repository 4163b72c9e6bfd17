package labtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
)

// A sentinel is declared by errors.New with a literal.
var (
	errVariable = regexp.MustCompile(`(?m)^(?:var |\t)Err[A-Z]\w*(?:, \w+)* +(?:=|error\b).*$`)
	sentinel    = regexp.MustCompile(`(Err\w+) += errors\.New\("(.*)"\)`)
)

// Sentinels returns the exported Err… variables of the package in dir, with their
// texts. It reads the sources, because a list of values could be incomplete. A
// variable that is not the result of errors.New with a literal fails the test.
func Sentinels(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	check.NoError(tb, err)
	found := map[string]string{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		check.NoError(tb, err)
		for _, line := range errVariable.FindAllString(string(source), -1) {
			m := sentinel.FindStringSubmatch(line)
			if m == nil {
				tb.Fatalf("%s: %s is not declared by errors.New with a literal", path, line)
			}
			found[m[1]] = m[2]
		}
	}
	return found
}
