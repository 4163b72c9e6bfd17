package race

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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

// read returns the lines of the function in the repository at root, with its comment. They
// are formatted, so that the function ends with the first line that is a closing brace.
func (f function) read(root string) (*Source, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.file)))
	if err != nil {
		return nil, err
	}
	name, receiver := f.name, ""
	if of, method, found := strings.Cut(f.name, "."); found {
		name, receiver = method, `\((\w+ )?\*?`+of+`\) `
	}
	at := regexp.MustCompile(`(?m)^(//.*\n)*func ` + receiver + name + `\((?s:.*?)\n}$`).FindIndex(text)
	if at == nil {
		return nil, fmt.Errorf("%s has no function %s", f.file, f.name)
	}
	from := 1 + bytes.Count(text[:at[0]], []byte("\n"))
	lines := string(text[at[0]:at[1]])
	return &Source{File: f.file, Func: f.name, From: from, To: from + strings.Count(lines, "\n"), Text: lines}, nil
}
