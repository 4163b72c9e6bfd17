package shop

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

func TestPartsOfAReplyAreKept(t *testing.T) {
	t.Parallel()
	reply := Reply{
		Header: http.Header{"Location": {"/orders/7"}, "Set-Cookie": {"csrf=old", "csrf=new%3D+; Path=/", "a=b"}},
		Body:   []byte(`{"id": 5, "html": "<form><input name='x' value='1'><input name='t' value='a&amp;&quot;b'/></form>"}`),
	}
	for file, want := range map[string]string{
		`{pointer: /id}`:     "5",
		`{header: location}`: "/orders/7",
		`{header: Location, matches: '/orders/(.*)'}`: "7",
		`{cookie: csrf}`:           "new=+",
		`{field: t}`:               `a&"b`,
		`{matches: '"id": (\d+)'}`: "5",
		`{header: X-None}`:         "",
		`{cookie: none}`:           "",
		`{field: none}`:            "",
	} {
		s := parse(t, minimal+"  order: "+file+"\n")
		if got, found := s.Reply.Order.From(reply); got != want || found != (want != "") {
			t.Errorf("%s: %q, %v; want %q", file, got, found, want)
		}
	}
}

func TestPageIsToldAsItsReaderSeesIt(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"\n<!doctype html><title>A shop</title><style>a {}</style><script>if (a<b) {}</script>\n<p>Sold&nbsp;<b>out</b>": "A shop Sold out",
		"{\"a\":\n1}": `{"a": 1}`,
		"a < b":       "a < b",
	} {
		if got := (Reply{Body: []byte(body)}).Said(); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}

func TestFieldsOfAFormAreEncoded(t *testing.T) {
	t.Parallel()
	s := parse(t, `
url: http://h
claim: {url: /, form: {"e mail": "{{user}}&x=1@h", b: "{{coupon}}+"}}
reply: {accepted: {status: [200]}}
`)
	filled := s.Claim.With(Values{"user": "a b", "coupon": "%"})
	if want := "b=%25%2B&e+mail=a+b%26x%3D1%40h"; filled.Body != want || filled.Method != http.MethodPost {
		t.Errorf("%s %s, want %s", filled.Method, filled.Body, want)
	}
}

func TestStepsThatAreWrongAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`
url: http://h
session: browser
claim: {url: /}
steps:
  - {url: "{{later}}", keep: {csrf: {}}}
  - {url: "https://elsewhere/{{csrf}}", body: b, form: {a: b}}
  - {url: "/{{none}}", wait: -1s, keep: {later: {header: Location}}}
reply: {accepted: {status: [200]}}
`))
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"number 1: url has to begin with /", "{{later}} is not known here", "keep: csrf is empty",
		"number 2: url has to begin with /", "number 2: give a form or a body", "{{none}} is not known here",
		"give a claim, or steps", "steps: 0 have burst: true", "number 3: wait is below 0", `session: "browser"`,
		"number 3: expect and keep are of steps before the last",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not named: %s\n%v", want, err)
		}
	}
}

// A shop's reply may name any address, and that is not contacted.
func TestRepliesLeadToNoOtherAddress(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("another address was contacted")
	}))
	t.Cleanup(elsewhere.Close)
	redirect := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/basket", http.StatusFound))
	t.Cleanup(redirect.Close)
	s := parse(t, `
url: `+redirect.URL+`
steps:
  - {url: /, keep: {next: {header: Location}}}
  - {url: "{{next}}"}
  - {url: /, burst: true}
reply: {accepted: {status: [200]}}
`)
	_, err := s.Sessions(t.Context(), []User{{ID: "1"}}, 1, "")
	if err == nil || !strings.Contains(err.Error(), "step 2 of user 1: {{next}} is not an address of the shop") {
		t.Error(err)
	}
	if _, err := s.call(t.Context(), Request{URL: "/"}, nil); err == nil || !strings.Contains(err.Error(), "status 302") {
		t.Error(err)
	}
}

func TestLocationOfTheShopIsAPath(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("http://h:1/base")
	check.NoError(t, err)
	for location, want := range map[string]string{
		"http://h:1/base/a?b=1": "/a?b=1", "https://h:1/base/a": "/a", "/a": "/a", "https://g/a": "https://g/a",
	} {
		if got := (&Session{base: base}).path(location); got != want {
			t.Errorf("%s: %s, want %s", location, got, want)
		}
	}
}

// A shop that wants an Idempotency-Key takes two clicks with one key for one.
func TestEachRequestHasAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	s := parse(t, "url: http://h\nclaim: {url: '/{{uuid}}'}\nreply: {accepted: {status: [200]}}\n")
	all, err := s.Sessions(t.Context(), []User{{ID: "1"}}, 2, "")
	check.NoError(t, err)
	keys := map[string]bool{}
	for range 100 {
		keys[string(all[0].Request(1, true))] = true
	}
	key := regexp.MustCompile(`^GET /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12} `)
	for request := range keys {
		if !key.MatchString(request) || len(keys) != 100 || s.Plain() {
			t.Fatalf("%d keys, as in %q; sent by k6: %v", len(keys), request, s.Plain())
		}
	}
}

// A hold is about to expire when the burst is sent.
func TestBurstWaitsBeforeItIsSent(t *testing.T) {
	t.Parallel()
	s := parse(t, `
url: http://h
steps: [{url: /, wait: 50ms, burst: true}]
reply: {accepted: {status: [200]}}
`)
	begin := time.Now()
	_, err := s.Sessions(t.Context(), []User{{ID: "1"}}, 1, "")
	if took := time.Since(begin); err != nil || took < 50*time.Millisecond {
		t.Errorf("ready after %s, %v", took, err)
	}
}

// Not in parallel, because it reads what all of the process writes to stderr.
func TestWhatTakesLongIsTold(t *testing.T) {
	r, w, err := os.Pipe()
	check.NoError(t, err)
	stderr := os.Stderr
	os.Stderr = w
	defer func() { os.Stderr = stderr }()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("t"))
	}))
	defer server.Close()
	s := parse(t, "url: "+server.URL+`
users: {login: {url: /login, token: {matches: t}}}
steps: [{url: /form}, {url: "/{{token}}", burst: true}]
reply: {accepted: {status: [200]}}
`)
	users, err := s.Tokens(t.Context(), 3)
	check.NoError(t, err)
	_, err = s.Sessions(t.Context(), users, 3, "1")
	check.NoError(t, errors.Join(err, w.Close()))
	told, err := io.ReadAll(r)
	check.NoError(t, err)
	for _, want := range []string{"3 logins", "step 1 of 2 by 3 sessions"} {
		if !strings.Contains(string(told), want) {
			t.Errorf("%q is not told: %s", want, told)
		}
	}
}

// Several claims of a user share a session, and are all sent before the first is paid.
func TestStepsAfterTheBurstAreForItsNumber(t *testing.T) {
	t.Parallel()
	var paid []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		paid = append(paid, r.URL.Path)
	}))
	t.Cleanup(server.Close)
	s := parse(t, "url: "+server.URL+`
steps: [{url: "/{{number}}", burst: true}, {url: "/pay/{{number}}", wait: 20ms}]
reply: {accepted: {status: [200]}}
`)
	all, err := s.Sessions(t.Context(), []User{{ID: "1"}}, 2, "")
	check.NoError(t, err)
	for number := 1; number <= 2; number++ {
		all[0].Request(number, true)
	}
	begin := time.Now()
	for number := 1; number <= 2; number++ {
		if _, err := all[0].Finish(t.Context(), Reply{Status: 200}, number); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(begin); strings.Join(paid, " ") != "/pay/1 /pay/2" || took < 40*time.Millisecond {
		t.Errorf("%s within %s", paid, took)
	}
}

func TestAddressWithoutAPortIsThatOfHTTP(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://127.0.0.1": "127.0.0.1:80", "http://127.0.0.1:81/shop": "127.0.0.1:81",
	} {
		if got, err := Address(url); got != want || err != nil {
			t.Errorf("%s: %s, %v", url, got, err)
		}
	}
}
