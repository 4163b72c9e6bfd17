package labtest

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// NeedInterop skips a test that runs another language's library, unless `make
// interop` runs it.
func NeedInterop(tb testing.TB) {
	tb.Helper()
	if os.Getenv("INTEROP") == "" {
		tb.Skip("the tests with Java's libraries run by `make interop`")
	}
}

// BuildJava compiles the Maven project in dir and returns the class path. It fails the
// test, and does not skip it, without Java or Maven.
func BuildJava(tb testing.TB, dir string) string {
	tb.Helper()
	project, err := filepath.Abs(dir)
	check.NoError(tb, err)
	mvn, err := lab.LookPath("mvn")
	check.NoError(tb, err)
	logs, err := Lab(tb).Dir("java")
	check.NoError(tb, err)
	// Without a timeout: Maven downloads the libraries at the first run.
	err = lab.Run(tb.Context(), lab.Program{
		Name: "maven", Path: mvn, Dir: logs,
		Args: []string{"-q", "-B", "-f", filepath.Join(project, "pom.xml"), "compile", "dependency:copy-dependencies"},
	})
	check.NoError(tb, err)
	target := filepath.Join(project, "target")
	return filepath.Join(target, "classes") + ":" + filepath.Join(target, "dependency", "*")
}
