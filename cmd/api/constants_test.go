package main

import (
	"fmt"
	"go/constant"
	gotoken "go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// constants are the limits of the code that an operator meets and that are no
// settings. Their values are read from the code.
var constants = []struct{ file, name, meaning string }{
	{"internal/order/config.go", "MaxRunning",
		"claims that run at a time in an instance, no more than `HTTP_CONNS`; half of them for one coupon"},
	{"internal/order/commit/group_commit.go", "maxBatch", "orders in a transaction of `COMMIT=grouped`"},
	{"internal/order/commit/group_commit.go", "maxWorkers", "such transactions at a time"},
	{"internal/order/commit/group_commit.go", "batchTimeout", "such a transaction"},
	{"internal/order/commit/read_back.go", "readBackTimeout", "reading back a commit whose reply was lost"},
	{"internal/order/winners/lookup.go", "lookupTimeout", "looking for a user's order"},
	{"internal/order/winners/filter.go", "maxFilterBytes", "memory of the filters of sold-out coupons, in bytes"},
	{"internal/observe/promises.go", "auditInterval",
		"between two audits of the promises, for the metrics"},
	{"internal/coupon/cache.go", "loadTimeout", "reading a coupon"},
	{"internal/coupon/segments.go", "MaxSegments", "segments of a coupon's stock"},
	{"internal/lock/grant.go", "releaseTimeout", "releasing a lock"},
	{"internal/httpapi/body.go", "maxBody", "a request's body, in bytes"},
	{"internal/httpapi/orders.go", "auditTimeout", "an audit of a coupon, or two thirds of `CLAIM_TIMEOUT`"},
	{"internal/httpapi/health.go", "probeTimeout", "a server's reply to `/readyz`"},
	{"internal/httpapi/rate_limit.go", "refusalDelay", "delay of a 429, so that a client cannot repeat it at once"},
	{"internal/httpapi/rate_limit.go", "maxDelayed", "429s that are delayed at a time; more are sent at once"},
	{"internal/admission/ratelimit/ratelimit.go", "buckets",
		"users and addresses that are told apart by the rate limits"},
	{"internal/auth/verifier.go", "leeway", "difference of the clocks that a token's times may have"},
	{"internal/auth/jwks.go", "refreshInterval", "between two fetches of the keys of `JWT_JWKS`"},
	{"internal/auth/jwks.go", "fetchTimeout", "such a fetch"},
	{"internal/connect/redis.go", "dialTimeout", "connecting to Redis"},
	{"internal/connect/redis.go", "ioTimeout", "a reply of Redis"},
	{"internal/connect/mysql.go", "replyTimeout", "a reply of MySQL to a statement of a migration"},
}

// constantsTable returns the table of constants.
func constantsTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| limit | of | in the code |\n|--:|---|---|\n")
	for _, c := range constants {
		value := constantValue(t, c.file, c.name)
		fmt.Fprintf(&b, "| %s | %s | `%s`, `%s` |\n", value, c.meaning, c.name, c.file)
	}
	return b.String()
}

// durations are the units of package time in nanoseconds.
var durations = strings.NewReplacer("time.Second", "1_000_000_000", "time.Minute", "60_000_000_000")

// constantValue returns the value of a constant of a file in the repository, whose definition has
// literals and units of time only.
func constantValue(t *testing.T, path, name string) string {
	t.Helper()
	definition := regexp.MustCompile(`(?m)^(?:const |\t)` + name + ` += ([^/\n]+)`)
	m := definition.FindStringSubmatch(readFile(t, filepath.Join("../..", path)))
	if m == nil {
		t.Fatalf("%s has no constant %s", path, name)
	}
	value, err := types.Eval(gotoken.NewFileSet(), nil, gotoken.NoPos, durations.Replace(m[1]))
	check.NoError(t, err)
	if strings.Contains(m[1], "time.") {
		n, _ := constant.Int64Val(value.Value)
		return strings.Replace(time.Duration(n).String(), "m0s", "m", 1)
	}
	return value.Value.ExactString()
}
