package conventions

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const (
	module = "example.com/flashsale/"
	root   = "../.."
)

// pkg is what go list says of a package.
type pkg struct {
	ImportPath, Doc, Name     string
	Deps                      []string
	GoFiles, TestGoFiles      []string
	TestImports, XTestImports []string
}

func list(tb testing.TB, pattern string) (pkgs []pkg) {
	tb.Helper()
	cmd := exec.Command("go", "list", "-json", pattern)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			tb.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// TestArrowsPointOneWay: cmd/api → httpapi → order → coupon, and the domain
// knows neither HTTP nor, in the lock core, any driver.
func TestArrowsPointOneWay(t *testing.T) {
	t.Parallel()
	drivers := []string{"database/sql", "github.com/redis/", "github.com/go-sql-driver/", "go.etcd.io/", "net/http", module}
	for from, banned := range map[string][]string{
		"internal/coupon":  {"net/http", module + "internal/order", module + "internal/httpapi", module + "internal/lock/", module + "internal/lab"},
		"internal/order":   {"net/http", module + "internal/httpapi", module + "internal/lock/", module + "internal/lab"},
		"internal/idgen":   {"net/http", module},
		"internal/auth":    {"net/http", module},
		"internal/lock":    drivers,
		"internal/connect": {"net/http", module},
		"internal/httpapi": {module + "internal/lock/", module + "internal/lab", "testing"},
		"cmd/api":          {module + "internal/lab", "testing"},
	} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			found := list(t, "./"+from)
			if len(found) != 1 || len(found[0].Deps) == 0 {
				t.Fatalf("no such package")
			}
			for _, dep := range found[0].Deps {
				for _, ban := range banned {
					if dep == ban || strings.HasPrefix(dep, strings.TrimSuffix(ban, "/")+"/") {
						t.Errorf("depends on %s", dep)
					}
				}
			}
		})
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	pkgs := list(t, "./...")
	if len(pkgs) < 8 {
		t.Fatalf("only %d packages", len(pkgs))
	}
	for _, p := range pkgs {
		if len(p.GoFiles) == 0 {
			continue
		}
		want := "Package " + p.Name + " "
		if p.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(p.Doc, want) {
			t.Errorf("%s: the package comment begins %q, want %q", p.ImportPath, p.Doc, want)
		}
	}
}
