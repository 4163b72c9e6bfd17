package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRequestsNeedAValidToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 1)
	for _, route := range []string{"GET /orders", "POST /coupons/" + id + "/orders"} {
		method, path, _ := strings.Cut(route, " ")
		for token, code := range map[string]string{"": "unauthorized", "garbage": "invalid_token"} {
			r := f.do(method, path, token, "")
			wantProblem(t, r, 401, code)
			got := r.Header().Get("WWW-Authenticate")
			if !strings.HasPrefix(got, "Bearer ") || strings.Contains(got, "invalid_token") != (token != "") {
				t.Errorf("%s with token %q: WWW-Authenticate: %q", route, token, got)
			}
		}
	}
}

// signed returns a token of any header and payload, signed with the secret. now
// in the payload becomes the current second, and soon one a minute later.
func signed(header, payload string) string {
	now := time.Now().Unix()
	payload = strings.NewReplacer("now", fmt.Sprint(now), "soon", fmt.Sprint(now+60)).Replace(payload)
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(header)) + "." + encode([]byte(payload))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}

// Every token is signed with the service's secret.
func TestHostileTokensAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 1)
	const common = `{"alg":"HS256","typ":"JWT"}`
	if r := f.do("GET", "/orders",
		signed(common, `{"sub":"42","exp":soon,"iat":now,"nbf":0.5,"aud":["a","b"],"other":{"a":null}}`),
		""); r.Code != 200 {
		t.Fatalf("the honest token: %v", r)
	}
	for _, test := range []struct{ name, header, payload string }{
		{"second role", common, `{"sub":"42","exp":soon,"role":"user","role":"admin"}`},
		{"second role, escaped", common, `{"sub":"42","exp":soon,"role":"user","r\u006fle":"admin"}`},
		{"second sub", common, `{"sub":"42","sub":"43","exp":soon}`},
		{"duplicate in a claim that is not read", common, `{"sub":"42","exp":soon,"a":{"b":1,"b":2}}`},
		{"SUB", common, `{"SUB":"42","exp":soon}`},
		{"Exp of an expired token", common, `{"sub":"42","exp":1,"Exp":soon}`},
		{"Exp only", common, `{"sub":"42","Exp":soon}`},
		{"exp 1e400", common, `{"sub":"42","exp":1e400}`},
		{"exp 1e300", common, `{"sub":"42","exp":1e300}`},
		{"exp beyond the year 9999", common, `{"sub":"42","exp":253402300800}`},
		{"exp negative", common, `{"sub":"42","exp":-1}`},
		{"exp as text", common, `{"sub":"42","exp":"soon"}`},
		{"exp null", common, `{"sub":"42","exp":null}`},
		{"exp true", common, `{"sub":"42","exp":true}`},
		{"nbf later", common, `{"sub":"42","exp":soon,"nbf":soon}`},
		{"nbf 1e300", common, `{"sub":"42","exp":soon,"nbf":1e300}`},
		{"nbf -1e300", common, `{"sub":"42","exp":soon,"nbf":-1e300}`},
		{"nbf as text", common, `{"sub":"42","exp":soon,"nbf":"now"}`},
		{"iat 1e400", common, `{"sub":"42","exp":soon,"iat":1e400}`},
		{"iat 1e300", common, `{"sub":"42","exp":soon,"iat":1e300}`},
		{"iat negative", common, `{"sub":"42","exp":soon,"iat":-1}`},
		{"iat as object", common, `{"sub":"42","exp":soon,"iat":{}}`},
		{"sub with a sign", common, `{"sub":"+42","exp":soon}`},
		{"sub with a zero", common, `{"sub":"042","exp":soon}`},
		{"sub with a blank", common, `{"sub":" 42","exp":soon}`},
		{"sub with a newline", common, `{"sub":"42\n","exp":soon}`},
		{"sub with an underscore", common, `{"sub":"4_2","exp":soon}`},
		{"sub in hexadecimal", common, `{"sub":"0x2a","exp":soon}`},
		{"sub as fraction", common, `{"sub":"42.0","exp":soon}`},
		{"sub in Arabic digits", common, `{"sub":"٤٢","exp":soon}`},
		{"sub beyond int64", common, `{"sub":"9223372036854775808","exp":soon}`},
		{"sub as number", common, `{"sub":42,"exp":soon}`},
		{"sub as list", common, `{"sub":["42"],"exp":soon}`},
		{"sub empty", common, `{"sub":"","exp":soon}`},
		{"role as list", common, `{"sub":"42","exp":soon,"role":["admin"]}`},
		{"invalid UTF-8", common, "{\"sub\":\"42\",\"exp\":soon,\"a\":\"\xff\"}"},
		{"second value", common, `{"sub":"42","exp":soon}{}`},
		{"payload null", common, `null`},
		{"payload list", common, `["sub","42"]`},
		{"payload empty", common, ``},
		{"crit unknown", `{"alg":"HS256","crit":["exp"],"exp":1}`, `{"sub":"42","exp":soon}`},
		{"crit b64", `{"alg":"HS256","b64":false,"crit":["b64"]}`, `{"sub":"42","exp":soon}`},
		{"crit empty", `{"alg":"HS256","crit":[]}`, `{"sub":"42","exp":soon}`},
		{"crit null", `{"alg":"HS256","crit":null}`, `{"sub":"42","exp":soon}`},
		{"second alg", `{"alg":"none","alg":"HS256"}`, `{"sub":"42","exp":soon}`},
		{"second kid", `{"alg":"HS256","kid":"a","kid":"b"}`, `{"sub":"42","exp":soon}`},
		{"duplicate in a parameter that is not read", `{"alg":"HS256","a":{"b":1,"b":2}}`, `{"sub":"42","exp":soon}`},
		{"ALG", `{"ALG":"HS256"}`, `{"sub":"42","exp":soon}`},
		{"alg none", `{"alg":"none"}`, `{"sub":"42","exp":soon}`},
		{"alg of another case", `{"alg":"hs256"}`, `{"sub":"42","exp":soon}`},
		{"alg RS256", `{"alg":"RS256"}`, `{"sub":"42","exp":soon}`},
		{"alg as list", `{"alg":["HS256"]}`, `{"sub":"42","exp":soon}`},
		{"kid as number", `{"alg":"HS256","kid":1}`, `{"sub":"42","exp":soon}`},
		{"header null", `null`, `{"sub":"42","exp":soon}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			token := signed(test.header, test.payload)
			for _, r := range []response{f.do("GET", "/orders", token, ""), f.claim(id, token)} {
				wantProblem(t, r, 401, "invalid_token")
				if got := r.Header().Get("WWW-Authenticate"); got != `Bearer realm="flashsale", error="invalid_token"` {
					t.Errorf("WWW-Authenticate: %q", got)
				}
			}
		})
	}
}

func TestOnlyTheExactRoleIsAdmin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, claims := range []string{`"role":"user","ROLE":"admin"`, `"Role":"admin"`, `"role":"Admin"`,
		`"role":"admin "`, `"role":null`} {
		token := signed(`{"alg":"HS256","typ":"JWT"}`, `{"sub":"42","exp":soon,`+claims+`}`)
		wantProblem(t, f.do("GET", "/coupons/1/audit", token, ""), 403, "forbidden")
	}
}

func TestIdentityIsCheckedBeforeInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	wantProblem(t, f.do("GET", "/orders/x", "", ""), 401, "unauthorized")
	wantProblem(t, f.do("POST", "/coupons", userToken(t, 42), "{"), 403, "forbidden")
}

func TestOnlyAdminsWriteAndAudit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 1)
	for _, route := range []string{"POST /coupons", "POST /coupons/" + id + "/stock",
		"PATCH /coupons/" + id, "GET /coupons/" + id + "/audit", "GET /coupons/" + id + "/orders",
		"GET /coupons/" + id + "/orders.ndjson"} {
		method, path, _ := strings.Cut(route, " ")
		body := ""
		if method != "GET" {
			body = `{"add":1}`
		}
		wantProblem(t, f.do(method, path, userToken(t, 42), body), 403, "forbidden")
		if r := f.do(method, path, adminToken(t), body); r.Code == 401 || r.Code == 403 {
			t.Errorf("%s as admin: %v", route, r)
		}
	}
}
