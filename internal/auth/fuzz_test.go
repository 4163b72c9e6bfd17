package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/auth/authtest"
	"example.com/flashsale/internal/check"
)

// A fuzzKey is a key that the verifier knows, with its id and algorithm.
type fuzzKey struct {
	id, algorithm string
	sign          func(text string) []byte
}

func hs256(key []byte) func(string) []byte {
	return func(text string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
}

// allKeys returns a verifier with one key of each kind.
func allKeys(tb testing.TB) (*Verifier, []fuzzKey) {
	tb.Helper()
	p := authtest.NewProvider(tb)
	p.Add(tb, "public", "EdDSA")
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel() // tokens with an unknown key then wait for no fetch
	jwks, err := OpenJWKS(ctx, writeJWKS(tb, p, filepath.Join(tb.TempDir(), "jwks.json")), func(error) {})
	check.NoError(tb, err)
	v := NewVerifier(Config{JWKS: jwks, Secrets: []Secret{{Key: secret}, {ID: "other", Key: otherSecret}}})
	private := p.Private("public").(ed25519.PrivateKey)
	return v, []fuzzKey{
		{"", "HS256", hs256(secret)},
		{"other", "HS256", hs256(otherSecret)},
		{"public", "EdDSA", func(text string) []byte { return ed25519.Sign(private, []byte(text)) }},
	}
}

// Whatever arrives, Verify does not panic, and accepts only what a known key has
// signed.
func FuzzVerify(f *testing.F) {
	v, keys := allKeys(f)
	for _, key := range keys {
		token := tokenOf(key, `{"alg":"`+key.algorithm+`","kid":"`+key.id+`"}`, `{"sub":"42","exp":253402300799}`)
		f.Add(token)
		last := len(token) - 1
		f.Add(token[:last] + string(token[last]+1)) // another spelling of the same bytes
	}
	for _, token := range []string{"", "..", "a.b.c", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.",
		"eyJhbGciOiJub25lIn0.e30."} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		id, err := v.Verify(token)
		if err != nil {
			if id != (Identity{}) || !errors.Is(err, ErrInvalidToken) {
				t.Errorf("%+v with %v", id, err)
			}
			return
		}
		text, signature := token[:strings.LastIndex(token, ".")], token[strings.LastIndex(token, ".")+1:]
		for _, key := range keys {
			if want := base64.RawURLEncoding.EncodeToString(key.sign(text)); want == strings.NewReplacer("\r", "",
				"\n", "").Replace(signature) {
				return
			}
		}
		t.Errorf("%q is accepted, and no key has signed it", token)
	})
}

// Every token is signed with a known key. Claims that programs would read differently are refused, and
// only the exact role is more than a user's.
func TestTokensAreReadStrictly(t *testing.T) {
	t.Parallel()
	v, keys := allKeys(t)
	const common = `{"alg":"HS256","typ":"JWT"}`
	now := time.Now().Unix()
	verify := func(header, payload string) (Identity, error) {
		payload = strings.NewReplacer("now", fmt.Sprint(now), "soon", fmt.Sprint(now+60)).Replace(payload)
		return v.Verify(tokenOf(keys[0], header, payload))
	}
	for payload, want := range map[string]Identity{
		`{"sub":"42","exp":soon,"iat":now,"nbf":0.5,"aud":["a","b"],"iss":"c","other":{"a":null}}`: {42, RoleUser},
		`{"sub":"1","exp":253402300799,"role":"admin"}`:                                            {1, RoleAdmin},
		`{"sub":"1","exp":soon,"role":"clerk"}`:                                                    {1, RoleClerk},
		`{"sub":"42","exp":soon,"role":"user","ROLE":"admin"}`:                                     {42, RoleUser},
		`{"sub":"42","exp":soon,"Role":"admin"}`:                                                   {42, RoleUser},
		`{"sub":"42","exp":soon,"role":"Admin"}`:                                                   {42, RoleUser},
		`{"sub":"42","exp":soon,"role":"admin "}`:                                                  {42, RoleUser},
		`{"sub":"42","exp":soon,"role":null}`:                                                      {42, RoleUser},
	} {
		if got, err := verify(common, payload); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", payload, got, err, want)
		}
	}
	refused := func(header, payload string) {
		if got, err := verify(header, payload); !errors.Is(err, ErrInvalidToken) || got != (Identity{}) {
			t.Errorf("%s %s: %+v, %v", header, payload, got, err)
		}
	}
	for _, sub := range []string{`"+42"`, `"042"`, `" 42"`, `"42\n"`, `"4_2"`, `"0x2a"`, `"42.0"`, `"٤٢"`,
		`"9223372036854775808"`, `42`, `["42"]`, `""`, `"0"`, `"-1"`, `"bob"`} {
		refused(common, `{"exp":soon,"sub":`+sub+`}`)
	}
	for _, exp := range []string{"1e400", "1e300", "253402300800", "-1", "null", "true"} {
		refused(common, `{"sub":"42","exp":`+exp+`}`)
	}
	for _, more := range []string{
		`"nbf":soon`, `"nbf":1e300`, `"nbf":-1e300`, `"iat":1e400`, `"iat":1e300`, `"iat":-1`, `"iat":{}`,
		`"role":["admin"]`, `"role":"user","role":"admin"`, `"role":"user","r\u006fle":"admin"`, `"sub":"43"`,
		`"a":{"b":1,"b":2}`, "\"a\":\"\xff\"",
	} {
		refused(common, `{"sub":"42","exp":soon,`+more+`}`)
	}
	for _, payload := range []string{`{"SUB":"42","exp":soon}`, `{"sub":"42","exp":1,"Exp":soon}`,
		`{"sub":"42","Exp":soon}`, `{"exp":soon}`, `{"sub":"42"}`, `{"sub":"42","exp":soon}{}`, `null`, `["sub","42"]`,
		``} {
		refused(common, payload)
	}
	for _, header := range []string{`{"alg":"HS256","crit":["exp"],"exp":1}`,
		`{"alg":"HS256","b64":false,"crit":["b64"]}`, `{"alg":"HS256","crit":[]}`, `{"alg":"HS256","crit":null}`,
		`{"ALG":"HS256"}`, `{"alg":"none"}`, `{"alg":"hs256"}`, `{"alg":"RS256"}`, `{"alg":["HS256"]}`, `null`,
		`{"alg":"HS256","kid":"other"}`, // signed with another secret
		`{"alg":"EdDSA","kid":"public"}`,
	} {
		refused(header, `{"sub":"42","exp":soon}`)
	}
}

func tokenOf(key fuzzKey, header, payload string) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(header)) + "." + encode([]byte(payload))
	return text + "." + encode(key.sign(text))
}
