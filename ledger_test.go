package flashsale_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
)

// ledgerFile lists what users and other programs know by name. go test -run
// TestNothingDisappears -write . writes it.
const ledgerFile = "testdata/ledger.txt"

// kept are the places where names are declared. The first group of the pattern is the
// name; what has no group is the name of the file.
var kept = []struct{ kind, files, pattern string }{
	{"api command", `^cmd/api/main\.go$`, `(?m)^\tcase "(\w+)"`},
	{"loadtest command", `^loadtest/main\.go$`, `(?m)^\t\{"([\w-]+)",`},
	{"setting", `^internal/settings/settings\.go$`, `env:"(\w+)`},
	{"make target", `^Makefile$`, `(?m)^([\w-]+):.*?##`},
	{"route", `^internal/(httpapi|labroutes)/\w+\.go$`, `"((?:GET|POST|PUT|PATCH|DELETE) /[^"]*)"`},
	{"route", `^(internal/httpapi|internal/labroutes|cmd/api)/\w+\.go$`, `"(/(?:livez|readyz|metrics|docs|openapi|debug|v\d)[^"]*)"`},
	{"metric", `^(internal|cmd)/.*\.go$`, `"((?:flashsale|http|lock|redis_pool)_\w+(?:_total|_seconds))"`},
	{"metric", `^(internal|cmd)/.*\.go$`, `(?:Name:\s*|NewDesc\(\s*|\bvalue\{)"([a-z]\w*_\w+)"`},
	{"problem", `^internal/httpapi/\w+\.go$`, `newProblem\(\d+, "(\w+)"`},
	{"alert", `^deploy/observe/rules\.yml$`, `alert: (\w+)`},
	{"script", `^loadtest/(k6/[\w-]+\.js|jmeter/\w+\.jmx)$`, ``},
	{"experiment's file", `^loadtest/.*\.go$`, `"(out/[\w/]+\.json)|\b(out/\w+/[\w-]+\.json)`},
}

// ledger returns a line for each name.
func ledger(t *testing.T) (lines []string) {
	t.Helper()
	var all []string
	walk(t, func(path string) { all = append(all, path) })
	for _, k := range kept {
		files, names := regexp.MustCompile(k.files), regexp.MustCompile(k.pattern)
		for _, path := range all {
			switch {
			case isTest(path) || !files.MatchString(path):
			case k.pattern == "":
				lines = append(lines, k.kind+" "+path)
			default:
				for _, m := range names.FindAllStringSubmatch(read(t, path), -1) {
					lines = append(lines, k.kind+" "+strings.Join(m[1:], ""))
				}
			}
		}
	}
	runs, _ := filepath.Glob("docs/runs/*.json")
	for _, file := range runs {
		var fields map[string]json.RawMessage
		check.NoError(t, json.Unmarshal([]byte(read(t, file)), &fields))
		for key := range fields {
			lines = append(lines, "field "+file+" "+key)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// What goes is taken out of the ledger by the commit that removes it, and named in its
// message.
func TestNothingDisappears(t *testing.T) {
	t.Parallel()
	now := ledger(t)
	if *write {
		check.NoError(t, os.WriteFile(ledgerFile, []byte(strings.Join(now, "\n")+"\n"), 0o600))
	}
	before := strings.Split(strings.TrimSpace(read(t, ledgerFile)), "\n")
	for _, line := range before {
		if _, found := slices.BinarySearch(now, line); !found {
			t.Errorf("gone: %s", line)
		}
	}
	for _, k := range kept { // a pattern that finds nothing keeps nothing
		if !slices.ContainsFunc(before, func(line string) bool { return strings.HasPrefix(line, k.kind+" ") }) {
			t.Errorf("%s has no %s", ledgerFile, k.kind)
		}
	}
}
