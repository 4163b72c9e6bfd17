package race

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A function names a function of this repository: the file, and Name or
// Type.Name in it.
type function struct{ file, name string }

// lockFunctions are where each lock is requested.
var lockFunctions = map[string]function{
	"none":     {"internal/lock/none.go", "none.TryLock"},
	"local":    {"internal/lock/local.go", "local.TryLock"},
	"redis":    {"internal/lock/redislock/redislock.go", "Locker.TryLock"},
	"redisson": {"internal/lock/redisson/locker.go", "locker.try"},
	"redlock":  {"internal/lock/redlock/redlock.go", "Locker.TryLock"},
	"mysql":    {"internal/lock/mysqllock/rows.go", "Rows.TryLock"},
	"getlock":  {"internal/lock/mysqllock/named.go", "Named.TryLock"},
	"zk":       {"internal/lock/zklock/zklock.go", "Locker.TryLock"},
	"etcd":     {"internal/lock/etcdlock/etcdlock.go", "Locker.TryLock"},
	"memcache": {"internal/lock/memcachelock/memcachelock.go", "Locker.TryLock"},
}

var (
	claimFunction      = function{"internal/order/sell.go", "Claims.sellLocked"}
	checkThenAct       = function{"internal/order/commit/per_claim.go", "perClaim.apply"}
	countThenInsert    = function{"internal/order/commit/per_claim.go", "countOrders"}
	commitOne          = function{"internal/order/commit/per_claim.go", "perClaim.commit"}
	commitMany         = function{"internal/order/commit/worker.go", "groupCommit.commitRepeatedly"}
	insertMany         = function{"internal/order/commit/place_some.go", "batch.insertOrders"}
	decrementUnguarded = function{"internal/order/commit/stock.go", "decrementUnguarded"}
)

// decrementFunctions take the stock, by commit strategy.
var decrementFunctions = map[string]function{
	"each":        {"internal/order/commit/stock.go", "decrementConditionally"},
	"optimistic":  {"internal/order/commit/stock.go", "decrementOptimistically"},
	"pessimistic": {"internal/order/commit/stock.go", "decrementPessimistically"},
	"grouped":     {"internal/order/commit/place_some.go", "batch.decrementStocks"},
}

// allFunctions returns the functions that explanations point at.
func allFunctions() []function {
	all := []function{
		claimFunction, checkThenAct, countThenInsert, commitOne, commitMany, insertMany, decrementUnguarded,
	}
	all = slices.AppendSeq(all, maps.Values(lockFunctions))
	return slices.AppendSeq(all, maps.Values(decrementFunctions))
}

// readSources returns the lines of all functions in the repository at root, as
// they are now: they may be edited while a session runs.
func readSources(root string) (map[function]*Source, error) {
	sources := map[function]*Source{}
	for _, f := range allFunctions() {
		s, err := f.read(root)
		if err != nil {
			return nil, err
		}
		sources[f] = s
	}
	return sources, nil
}

// read returns the lines of the function in the repository at root, with its
// comment.
func (f function) read(root string) (*Source, error) {
	path := filepath.Join(root, filepath.FromSlash(f.file))
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if decl, ok := d.(*ast.FuncDecl); ok && functionName(decl) == f.name {
			return f.source(files, decl, string(text)), nil
		}
	}
	return nil, fmt.Errorf("%s has no function %s", f.file, f.name)
}

func (f function) source(files *token.FileSet, decl *ast.FuncDecl, text string) *Source {
	begin := decl.Pos()
	if decl.Doc != nil {
		begin = decl.Doc.Pos()
	}
	from, to := files.Position(begin).Line, files.Position(decl.End()).Line
	lines := strings.Split(text, "\n")[from-1 : to]
	return &Source{File: f.file, Func: f.name, From: from, To: to, Text: strings.Join(lines, "\n")}
}

// functionName returns Name, or Type.Name of a method.
func functionName(decl *ast.FuncDecl) string {
	if decl.Recv == nil {
		return decl.Name.Name
	}
	receiver := decl.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	if t, ok := receiver.(*ast.Ident); ok {
		return t.Name + "." + decl.Name.Name
	}
	return decl.Name.Name
}
