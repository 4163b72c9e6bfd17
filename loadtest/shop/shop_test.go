package shop

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// minimal is a file that says what it has to.
const minimal = `
url: http://127.0.0.1:1/base/
claim:
  method: POST
  url: /buy/{{coupon}}
  headers: {X-User: "{{user}}"}
  body: '{"user": {{user}}}'
reply:
  accepted: {status: [201]}
`

func parse(t *testing.T, text string) *Shop {
	t.Helper()
	s, err := Parse([]byte(text))
	check.NoError(t, err)
	return s
}

func TestEverythingWrongIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`
url: https://127.0.0.1
claim: {url: buy, colour: red, headers: {Authorization: "Bearer {{token}} {{stock}}", host: h, accept-encoding: gzip}}
reply: {refused: {status: [many], matches: "("}, order: {pointer: id, matches: "^{{coupon}}"}}
timeout: soon
begin: {sql: ["DELETE FROM orders WHERE user = {{user}}"]}
admin: {jwt: {secret: "${NO_SUCH_VARIABLE}"}}
totals: {sql: {order_ids: SELECT 1}}
faults: [{name: redis}]
`))
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"http://host:port", "line 3: colour not found", "url has to begin with /",
		"claim: host is for", "claim: accept-encoding is for", "{{stock}} is not known here",
		"users: the claim has {{token}}", "line 4: cannot unmarshal !!str `many`", "missing closing )",
		"a regular expression has no placeholders: ^{{coupon}}",
		`JSON pointer "id"`, "accepted is missing", "line 5: cannot unmarshal", "{{user}} is not known here",
		"mysql: the DSN", "NO_SUCH_VARIABLE is not set", "faults: number 1",
		"not set in the environment: NO_SUCH_VARIABLE",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not named: %s", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
	_, err = Parse([]byte("url: http://[::1]:${PORT_OF_SHOP:-80}\n"))
	if err == nil || !strings.Contains(err.Error(), "over IPv4") || strings.Contains(err.Error(), "PORT_OF_SHOP") {
		t.Errorf("an address of IPv6, and a variable that has a value: %v", err)
	}
}

func TestVariablesAreThoseOfTheEnvironment(t *testing.T) {
	t.Setenv("SHOP_URL", "http://127.0.0.1:2")
	t.Setenv("EMPTY", "")
	s := parse(t, strings.Replace(minimal, "http://127.0.0.1:1/base/", "${SHOP_URL}", 1)+
		"users: {token: '${EMPTY:-a default}'}\n")
	if s.URL != "http://127.0.0.1:2" || s.Users.Token != "a default" || s.Users.First != 1 {
		t.Errorf("%q, %q", s.URL, s.Users.Token)
	}
}

func TestReplyIsReadByStatusAndBody(t *testing.T) {
	t.Parallel()
	replies := parse(t, `
url: http://h
claim: {url: /}
reply:
  accepted: {status: [200], pointer: /code, matches: "^0$"}
  refused: {pointer: /code, matches: "^(1|2)$"}
  order: {pointer: /data/orders/0/id}
`).Reply
	for body, want := range map[string]struct {
		status  int
		outcome string
		order   string
	}{
		`{"code": 0, "data": {"orders": [{"id": 12345678901234567890}]}}`: {200, Accepted, "12345678901234567890"},
		`{"code": 0, "data": {}}`: {200, Unknown, ""},
		`{"code": 1} and more`:    {200, Unknown, ""},
		`{"code": 0}`:             {500, Unknown, ""},
		`{"code": 1}`:             {200, Refused, ""},
		`{"code": 12}`:            {200, Unknown, ""},
		`{"code": null}`:          {200, Unknown, ""},
		`busy`:                    {200, Unknown, ""},
	} {
		outcome, order := replies.Read(Reply{Status: want.status, Body: []byte(body)})
		if outcome != want.outcome || order != want.order {
			t.Errorf("%d %s: %s, %q, want %s, %q", want.status, body, outcome, order, want.outcome, want.order)
		}
	}
	outcome, order := parse(t, minimal).Reply.Read(Reply{Status: 201, Body: []byte("7")})
	if outcome != Accepted || order != "" {
		t.Errorf("no order is described: %s, %q", outcome, order)
	}
	both := parse(t, minimal+"  refused: {pointer: /errors/0}\n").Reply // as GraphQL, whose status is always the same
	if outcome, _ = both.Read(Reply{Status: 201, Body: []byte(`{"errors": ["sold out"]}`)}); outcome != Unknown {
		t.Errorf("accepted and refused: %s", outcome)
	}
	text := parse(t, minimal+"  order: {matches: 'no\\. (\\d+)'}\n").Reply
	outcome, order = text.Read(Reply{Status: 201, Body: []byte("order no. 77")})
	if outcome != Accepted || order != "77" {
		t.Errorf("%s, %q", outcome, order)
	}
}

func TestRequestHasItsValues(t *testing.T) {
	t.Parallel()
	s := parse(t, minimal)
	base, err := http.NewRequest(http.MethodGet, string(s.URL), http.NoBody)
	check.NoError(t, err)
	got := string(s.Claim.With(Values{"user": "12", "coupon": "7"}).bytes(base.URL))
	want := "POST /base/buy/7 HTTP/1.1\r\nHost: 127.0.0.1:1\r\nX-User: 12\r\nContent-Length: 12\r\n\r\n{\"user\": 12}"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestUsersLogIn(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"token": "of ` + r.FormValue("name") + `"}`))
	}))
	t.Cleanup(server.Close)
	s := parse(t, strings.Replace(minimal, "http://127.0.0.1:1/base/", server.URL, 1)+`
users:
  first: 1000
  login:
    url: /login
    headers: {Content-Type: application/x-www-form-urlencoded}
    body: name=user{{user}}
    token: {pointer: /token}
`)
	users, err := s.Tokens(t.Context(), 20)
	if err != nil || len(users) != 20 || users[19] != (User{"1019", "of user1019"}) {
		t.Errorf("%v, %v", users, err)
	}
}

func TestTooFewTokensAndNoFileAreNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	check.NoError(t, os.WriteFile(file, []byte("one\ntwo\n"), 0o600))
	for path, want := range map[string]string{
		file:            "too few tokens: " + file + " has 2, and the workload has 3 users",
		"no/such/file":  "/no/such/file: no such file",
		"/no/such/file": "open /no/such/file",
	} {
		s := parse(t, minimal+"users: {file: "+path+"}\n")
		if _, err := s.Tokens(t.Context(), 3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

func TestCommandsBeginAndCount(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	s := parse(t, minimal+`
coupon: 7
begin:
  command: printf '{"orders":0,"left":{"%s":%s}}' $COUPON $STOCK >`+state+`
totals:
  command: {run: cat `+state+`, orders: /orders, stock: /left/7}
`)
	sale, err := s.Open(t.Context())
	check.NoError(t, err)
	check.NoError(t, sale.Restart(t.Context(), 42))
	got, err := sale.Count(t.Context())
	if want := (Counts{Stock: Count{42, true}, Orders: Count{0, true}}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	s.Totals.Command.Stock = "/left/8"
	if _, err := sale.Count(t.Context()); err == nil || !strings.Contains(err.Error(), "no number at /left/8") {
		t.Errorf("a number that is not there: %v", err)
	}
}

// A command may start a server, which keeps its output open.
func TestCommandDoesNotWaitForWhatItStarts(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	out, err := run(t.Context(), "sleep 30 & echo $!", nil)
	if err != nil || time.Since(begin) > 20*time.Second {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
	if _, err := run(t.Context(), "kill "+string(out), nil); err != nil {
		t.Error(err)
	}
}

// A file that is tried before its shop runs must not delete the orders of another one.
func TestDataAreLeftAloneWhereNoShopRuns(t *testing.T) {
	t.Parallel()
	s := parse(t, minimal+"mysql: root@tcp(127.0.0.1:1)/shop\nbegin: {sql: [DELETE FROM orders]}\n")
	if err := (&Sale{Shop: s}).Restart(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "left alone") {
		t.Errorf("%v, want that the data are left alone", err)
	}
}
