package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/measurements/crowd"
	"example.com/flashsale/loadtest/rig"
)

// Every client of a crowd gets a verdict, or is refused by an instance. nginx
// never finds both instances dead.
func TestCrowdIsAnsweredByTheInstances(t *testing.T) {
	t.Parallel()
	const clients = 12_000 // half as many did not fill the accept queues
	d := deploy(t, "grouped")
	now := time.Now()
	c, err := coupon.New(1, "a coupon", now.Add(-time.Hour), now.Add(time.Hour), clients, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := coupon.NewStore(labtest.Open(t, d.dsn)).Create(t.Context(), c, 1); err != nil {
		t.Fatal(err)
	}
	var requests [][]byte
	for i := range clients {
		headers := rig.TokenSigner(secret).Headers(int64(i + 1))
		requests = append(requests, generator.AppendClaim(nil, "flashsale", "1", []byte(headers)))
	}
	connected, err := crowd.Connect(t.Context(), strings.TrimPrefix(d.url, "http://"), clients,
		func(b []byte, n int) []byte { return append(b, requests[n]...) })
	if err != nil {
		t.Fatal(err)
	}
	verdicts, details := map[string]int{}, ""
	for _, o := range connected.Fire(t.Context(), time.Now()) {
		if verdicts[o.Verdict]++; o.Detail != "" {
			details = fmt.Sprintf("%s: %s", o.Verdict, o.Detail)
		}
	}
	t.Log(verdicts)
	if n := verdicts[rig.Accepted] + verdicts[crowd.Overloaded]; n != clients {
		t.Errorf("%d of %d were answered by an instance: %v; %s", n, clients, verdicts, details)
	}
	if verdicts[rig.Accepted] < clients/10 {
		t.Errorf("only %d accepted", verdicts[rig.Accepted])
	}
}
