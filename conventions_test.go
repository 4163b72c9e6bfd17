// Package flashsale_test checks the rules of this repository that the compiler
// does not check: which package may depend on which, package comments, the list
// of Go modules to update, and that what the documentation names exists.
package flashsale_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/flashsale/internal/check"
)

const module = "example.com/flashsale/"

// forbidden lists what a package must not depend on, directly or indirectly.
// The arrows are cmd/api → httpapi → order → coupon → transaction, and cmd/api →
// order/commit, order/winners → order. The domain has no HTTP, and the service links
// no test code.
var forbidden = map[string][]string{
	"internal/transaction": {"net/http", module},
	"internal/coupon": {"net/http", module + "internal/order", module + "internal/httpapi",
		module + "internal/lock/"},
	"internal/order": {"net/http", module + "internal/httpapi", module + "internal/lock/",
		module + "internal/order/"},
	"internal/order/events": {"net/http", module + "internal/httpapi", module + "internal/lock/",
		module + "internal/order/commit", module + "internal/order/life", module + "internal/order/winners"},
	"internal/order/commit": {"net/http", module + "internal/httpapi", module + "internal/lock/",
		module + "internal/order/winners"},
	"internal/order/winners": {"net/http", module + "internal/httpapi", module + "internal/lock/",
		module + "internal/order/commit"},
	"internal/admission":       {"net/http", module},
	"internal/admission/slots": {"net/http", module + "internal/order", module + "internal/httpapi"},
	"internal/batchread":       {"net/http", module},
	"internal/idgen":           {"net/http", module},
	"internal/observe/tracing": {"net/http", module},
	"internal/pageview": {"net/http", module + "internal/lock/", module + "internal/order",
		module + "internal/coupon"},
	"internal/lock": {"net/http", "database/sql"},
	"internal/connect": {"net/http", module + "internal/coupon", module + "internal/order",
		module + "internal/httpapi", module + "internal/lock"},
	"internal/httpapi": {module + "internal/lock/", module + "internal/labroutes", module + "internal/pageview"},
	"cmd/api": {"testing", module + "internal/lab", module + "internal/faultproxy",
		module + "loadtest"},
}

// onlyDepends lists packages that depend on the standard library, and on the given
// packages and trees of other modules only. For the core of lock this excludes the drivers, the parts that
// drivers share, and every server's client library. The parts that all drivers
// share bring no client library to them either.
var onlyDepends = map[string][]string{
	"internal/lock":        {},
	"internal/lock/driver": {module + "internal/lock"},
	"internal/faultproxy":  {},
	"internal/auth": {"github.com/golang-jwt/jwt", "github.com/MicahParks/jwkset", "golang.org/x/sync/singleflight",
		"golang.org/x/time/rate", "github.com/go-json-experiment/json"},
}

func TestDependenciesPointOneWay(t *testing.T) {
	t.Parallel()
	pkgs := list(t)
	for path, bans := range forbidden {
		for _, dep := range find(t, pkgs, path).Deps {
			if slices.ContainsFunc(bans, func(ban string) bool { return within(dep, ban) }) {
				t.Errorf("%s depends on %s", path, dep)
			}
		}
	}
	for path, allowed := range onlyDepends {
		for _, dep := range find(t, pkgs, path).Deps {
			isAllowed := func(p string) bool { return dep == p || !within(p, module) && within(dep, p) }
			if !isStandard(dep) && !slices.ContainsFunc(allowed, isAllowed) {
				t.Errorf("%s depends on %s", path, dep)
			}
		}
	}
}

// Only the tests of drivers start servers. The core of lock, its tests and the
// drivers' test suite can be copied without the lab.
func TestLockDoesNotDependOnLab(t *testing.T) {
	t.Parallel()
	const lab = module + "internal/lab"
	pkgs := list(t)
	for _, path := range []string{"internal/lock", "internal/lock/locktest"} {
		p := find(t, pkgs, path)
		for _, dep := range slices.Concat(p.Deps, p.TestImports, p.XTestImports) {
			if within(dep, lab) {
				t.Errorf("%s or its test depends on %s", path, dep)
			}
		}
	}
	for _, p := range pkgs {
		if within(p.ImportPath, module+"internal/lock") &&
			slices.ContainsFunc(p.Deps, func(dep string) bool { return within(dep, lab) }) {
			t.Errorf("%s depends on internal/lab", p.ImportPath)
		}
	}
}

func TestEveryPackageHasOneComment(t *testing.T) {
	t.Parallel()
	pkgs := list(t)
	if len(pkgs) < 8 {
		t.Fatalf("only %d packages", len(pkgs))
	}
	for _, p := range pkgs {
		files := p.GoFiles
		if len(files) == 0 { // only tests
			files = slices.Concat(p.TestGoFiles, p.XTestGoFiles)
		}
		if comments := packageComments(t, p.Dir, files); len(comments) != 1 {
			t.Errorf("%s has %d package comments, want one: %.60q", p.ImportPath, len(comments), comments)
		}
	}
}

func TestDependabotUpdatesEveryModule(t *testing.T) {
	t.Parallel()
	config := read(t, ".github/dependabot.yml")
	for _, pattern := range []string{"go.mod", "*/*/go.mod", "*/*/*/go.mod"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no module matches %s: %v", pattern, err)
		}
		for _, file := range files {
			dir := "/" + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), ".")
			if !strings.Contains(config, "\n      - "+dir+"\n") {
				t.Errorf(".github/dependabot.yml does not list %s", dir)
			}
		}
	}
}

// A pkg is a package as go list describes it. Deps are its dependencies, direct
// and indirect, without those of its tests.
type pkg struct {
	Dir, ImportPath, Name              string
	Deps                               []string
	GoFiles, TestGoFiles, XTestGoFiles []string
	TestImports, XTestImports          []string
}

// list returns the packages of the module.
func list(tb testing.TB) []pkg {
	tb.Helper()
	pkgs, err := listOnce()
	check.NoError(tb, err)
	return pkgs
}

var listOnce = sync.OnceValues(func() (pkgs []pkg, err error) {
	cmd := exec.Command("go", "list", "-json=Dir,ImportPath,Name,Deps,GoFiles,TestGoFiles,XTestGoFiles,TestImports,"+
		"XTestImports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
})

func find(tb testing.TB, pkgs []pkg, path string) pkg {
	tb.Helper()
	for _, p := range pkgs {
		if p.ImportPath == module+path && len(p.Deps) > 0 {
			return p
		}
	}
	tb.Fatalf("no package %s", path)
	return pkg{}
}

// within reports whether path is the package or directory tree root. A root
// that ends in a slash excludes the package root itself.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// isStandard reports whether path belongs to the standard library: the first
// element of another module's path contains a dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// packageComments returns the package comments of files. It reports comments
// that do not begin with "Package" and the package's name, or with "Command".
func packageComments(tb testing.TB, dir string, files []string) (comments []string) {
	tb.Helper()
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil,
			parser.PackageClauseOnly|parser.ParseComments)
		check.NoError(tb, err)
		if file.Doc == nil {
			continue
		}
		want := "Package " + file.Name.Name + " "
		if file.Name.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(file.Doc.Text(), want) {
			tb.Errorf("%s: the package comment does not begin with %q", filepath.Join(dir, name), want)
		}
		comments = append(comments, file.Doc.Text())
	}
	return comments
}
