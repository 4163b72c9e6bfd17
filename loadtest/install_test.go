package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/flashsale/internal/lab"
)

const root = ".."

// installs returns the groups that a make target installs, by its recipe and by the
// prerequisite install.
func installs(tb testing.TB, target string) (groups []string) {
	tb.Helper()
	rule := regexp.MustCompile(`(?m)^` + target + `:(.*)\n((?:\t.*\n)+)`).FindStringSubmatch(read(tb, "Makefile"))
	if rule == nil {
		tb.Fatalf("the Makefile has no target %s", target)
	}
	prerequisites, _, _ := strings.Cut(rule[1], "##")
	if slices.Contains(strings.Fields(prerequisites), "install") {
		groups = append(groups, "servers")
	}
	for _, m := range regexp.MustCompile(`deploy/install\.sh ([a-z ]+)`).FindAllStringSubmatch(rule[2], -1) {
		groups = append(groups, strings.Fields(m[1])...)
	}
	return groups
}

func read(tb testing.TB, file string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// On a machine that has nothing, each target installs what its command may start.
// What a command starts beyond its list fails wherever it runs (lab.Require).
func TestTargetsInstallWhatTheirCommandsNeed(t *testing.T) {
	t.Parallel()
	targets := map[string]string{"jmeter": "demo-jmeter"} // the others are named as their commands
	for _, c := range commands {
		if len(c.needs) == 0 {
			continue
		}
		target := c.name
		if other := targets[c.name]; other != "" {
			target = other
		}
		requireGroups(t, target, c.needs)
	}
}

func requireGroups(t *testing.T, target string, needs []*lab.Dependency) {
	t.Helper()
	groups := installs(t, target)
	for _, d := range needs {
		if !slices.Contains(groups, d.Group()) {
			t.Errorf("make %s installs %q, and may start what is in %s", target, groups, d.Group())
		}
	}
}

// declared matches the dependencies in internal/lab/dependency.go.
var declared = regexp.MustCompile(`(?m)(\w+) += &Dependency\{[^}]*?group: "(\w+)"`)

// mains matches what the tests of a package declare that they run.
var mains = regexp.MustCompile(`labtest\.Main\(m, ([^)]*)\)`)

// make test, fuzz and interop install what the tests that they run declare.
func TestTargetsInstallWhatTheirTestsNeed(t *testing.T) {
	t.Parallel()
	group := map[string]string{}
	for _, m := range declared.FindAllStringSubmatch(read(t, "internal/lab/dependency.go"), -1) {
		group["lab."+m[1]] = m[2]
	}
	for target, runs := range map[string]string{
		"test": `func Test`, "fuzz": `func Fuzz`, "interop": `func TestInterop\(`,
	} {
		groups, needed := installs(t, target), 0
		for _, name := range testsNeed(t, regexp.MustCompile(runs)) {
			if needed++; group[name] == "" || !slices.Contains(groups, group[name]) {
				t.Errorf("make %s installs %q, and runs tests that need %s of %q", target, groups, name, group[name])
			}
		}
		if needed == 0 {
			t.Errorf("make %s needs nothing", target)
		}
	}
}

// testsNeed returns what the packages declare that have a test which matches.
func testsNeed(t *testing.T, runs *regexp.Regexp) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "*_test.go"))
	for _, deeper := range []string{"*/*/*/*_test.go", "*/*/*/*/*_test.go"} {
		more, globErr := filepath.Glob(filepath.Join(root, filepath.FromSlash(deeper)))
		if files = append(files, more...); globErr != nil {
			err = globErr
		}
	}
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	text := map[string]string{} // of the tests of each package
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		text[filepath.Dir(file)] += read(t, name)
	}
	for _, tests := range text {
		if m := mains.FindStringSubmatch(tests); m != nil && runs.MatchString(tests) {
			for name := range strings.SplitSeq(m[1], ",") {
				if name = strings.TrimSpace(name); name != "" {
					names = append(names, name)
				}
			}
		}
	}
	return names
}
