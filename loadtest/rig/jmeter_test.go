package rig

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/loadtest/shop"
)

// results are lines as JMeter 2.13 wrote them, with one of a warm-up.
const results = `timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,bytes,grpThreads,allThreads,Latency,"order","verdict","instance","user"
1000,102,warm-up,200,OK,users 1-2,text,true,355,2,2,102,null,null,null,7
2005,5,claim,409,Conflict,users 1-3,text,true,336,4,4,5,none,claim_in_progress,a,7
2000,12,claim,409,Conflict,users 1-1,text,true,336,4,4,12,77,already_claimed,b,8
3000,9,claim,503,Service Unavailable,users 1-4,text,false,336,4,4,9,none,unavailable,b,9
3002,20,claim,201,Created,users 1-2,text,true,322,1,1,20,120428258754822145,none,a,7
`

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	check.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestBurstIsReadFromResults(t *testing.T) {
	t.Parallel()
	samples, err := readResults(write(t, results), "claim", claimVariables)
	check.NoError(t, err)
	got := burstOf(samples, func(c *Claim, row map[string]string) { c.read(row, nil) })
	at := time.UnixMilli
	want := Burst{
		Claims: []Claim{
			{Sent: at(2005), Received: at(2010), Verdict: "claim_in_progress", Instance: "a", User: 7},
			{Sent: at(2000), Received: at(2012), Verdict: "already_claimed", Instance: "b", User: 8},
			{Sent: at(3000), Received: at(3009), Verdict: Unexpected, Instance: "b", User: 9},
			{Sent: at(3002), Received: at(3022), Verdict: Accepted, Order: "120428258754822145", Instance: "a",
				User: 7},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if d := got.Skew(2); d != 5*time.Millisecond {
		t.Errorf("the last claim of a round was sent %s after its first, want 5ms", d)
	}
}

func TestResultsWithoutAColumnAreAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "no samples"},
		{"timeStamp,elapsed,label,responseCode\n", `no column "order"`},
	} {
		if _, err := readResults(write(t, c.text), "claim", claimVariables); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestEveryRoundHasItsLines(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "claims.csv")
	users := []shop.User{{ID: "5", Token: "o,ne"}, {ID: "6", Token: "two"}}
	target := Target{Coupons: []string{"11", "22"}, Users: users}
	check.NoError(t, writeClaims(file, target, Workload{Users: 2, Each: 2, Limit: 2, Rounds: 2}))
	b, err := os.ReadFile(file)
	check.NoError(t, err)
	want := "o,ne 11 5 1\ntwo 11 6 1\no,ne 11 5 2\ntwo 11 6 2\no,ne 22 5 1\ntwo 22 6 1\no,ne 22 5 2\ntwo 22 6 2\n"
	if got := strings.ReplaceAll(string(b), "\t", " "); got != want {
		t.Errorf("claims %q, want %q", got, want)
	}
}

func TestPlanHasTheRequestsOfAShop(t *testing.T) {
	t.Parallel()
	expectPlan(t, `
url: http://h:1/base
claim:
  method: PUT
  url: /buy?item={{coupon}}&user={{user}}
  headers: {Authorization: "Bearer {{token}}", X-Kind: a<b}
  body: '{"user": {{user}}}'
users: {token: t}
reply: {accepted: {status: [201]}}
`, map[string]int{
		`<stringProp name="HTTPSampler.path">/base/buy?item=${coupon}&amp;user=${user}</stringProp>`: 1,
		`<stringProp name="HTTPSampler.method">PUT</stringProp>`:                                     1,
		`<stringProp name="Header.value">Bearer ${token}</stringProp>`:                               1,
		`<stringProp name="Header.value">a&lt;b</stringProp>`:                                        1,
		`{&#34;user&#34;: ${user}}</stringProp>`:                                                     1,
		`testname="warm-up" enabled="false"`:                                                         1,
		`/coupons/`:                                                                                  0,
	})
}

func TestPlanEncodesTheValuesOfAForm(t *testing.T) {
	t.Parallel()
	expectPlan(t, `
url: http://h:1
claim: {url: /buy, form: {"the user": "{{user}}", item: "a b{{coupon}}"}}
reply: {accepted: {status: [201]}}
`, map[string]int{
		`item=a+b${__urlencode(${coupon})}&amp;the+user=${__urlencode(${user})}</stringProp>`: 1,
		`<stringProp name="Header.value">application/x-www-form-urlencoded</stringProp>`:      1,
	})
}

func expectPlan(t *testing.T, file string, wanted map[string]int) {
	t.Helper()
	s, err := shop.Parse([]byte(file))
	check.NoError(t, err)
	text, err := os.ReadFile("../jmeter/claim.jmx")
	check.NoError(t, err)
	plan, err := planFor(text, Target{URL: "http://h:1/base", Shop: s})
	check.NoError(t, err)
	for want, n := range wanted {
		if got := strings.Count(string(plan), want); got != n {
			t.Errorf("%d times, want %d: %s", got, n, want)
		}
	}
	if err := xml.Unmarshal(plan, new(struct{})); err != nil {
		t.Error(err)
	}
}
