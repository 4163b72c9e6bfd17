package labtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
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
		if err != nil {
			tb.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
		if err != nil {
			tb.Fatal(err)
		}
		for _, d := range file.Decls {
			addSentinels(tb, d, found)
		}
	}
	return found
}

func addSentinels(tb testing.TB, d ast.Decl, found map[string]string) {
	tb.Helper()
	vars, ok := d.(*ast.GenDecl)
	if !ok || vars.Tok != token.VAR {
		return
	}
	for _, spec := range vars.Specs {
		v := spec.(*ast.ValueSpec)
		for i, name := range v.Names {
			if !strings.HasPrefix(name.Name, "Err") {
				continue
			}
			text, ok := literal(v.Values, i)
			if !ok {
				tb.Errorf("%s is not declared by errors.New with a literal", name.Name)
			}
			found[name.Name] = text
		}
	}
}

// literal returns the literal argument of the call that is the ith value.
func literal(values []ast.Expr, i int) (text string, ok bool) {
	if i >= len(values) {
		return "", false
	}
	call, ok := values[i].(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return "", false
	}
	arg, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return "", false
	}
	text, err := strconv.Unquote(arg.Value)
	return text, err == nil
}
