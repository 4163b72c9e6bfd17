package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// Every client of a crowd gets a verdict, or is refused by an instance. nginx
// never finds both instances dead.
func TestCrowdIsAnsweredByTheInstances(t *testing.T) {
	t.Parallel()
	const clientCount = 12_000 // half as many did not fill the accept queues
	d := deploy(t, "COMMIT=grouped")
	d.createCoupon(clientCount)
	file := filepath.Join(t.TempDir(), "headers")
	var headers strings.Builder
	for i := range clientCount {
		headers.WriteString(rig.TokenSigner(secret).Headers(rig.UserID(i)))
	}
	check.NoError(t, os.WriteFile(file, []byte(headers.String()), 0o600))
	results, err := clients.Load{
		Address: strings.TrimPrefix(d.url, "http://"), Coupons: []int64{1}, Connect: clientCount,
		Headers: rig.Headers{Path: file, Count: clientCount, Width: headers.Len() / clientCount},
		Phases:  []generator.Phase{{Clients: clientCount, Count: clientCount}},
	}.Run(t.Context())
	check.NoError(t, err)
	r := results[0]
	verdicts := r.Verdicts()
	t.Log(verdicts)
	n := verdicts[rig.Accepted] + verdicts[rig.Overloaded] + verdicts[rig.Unavailable]
	if n != clientCount || r.Instances()[""] > 0 {
		t.Errorf("%d of %d were answered, by %v: %v; %s", n, clientCount, r.Instances(), verdicts, r.Detail)
	}
	if verdicts[rig.Accepted] < clientCount/100 { // so many on a machine that has other work, too
		t.Errorf("only %d accepted", verdicts[rig.Accepted])
	}
}
