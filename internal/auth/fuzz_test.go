package auth

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/flashsale/internal/auth/authtest"
)

// A fuzzKey is a key that the fuzzed verifier knows, with its id and algorithm.
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

// fuzzVerifier returns a verifier with one key of each kind.
func fuzzVerifier(f *testing.F) (*Verifier, []fuzzKey) {
	f.Helper()
	p := authtest.NewProvider(f)
	p.Add(f, "public", "EdDSA")
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel() // tokens with an unknown key then wait for no fetch
	jwks, err := OpenJWKS(ctx, writeJWKS(f, p, filepath.Join(f.TempDir(), "jwks.json")), func(error) {})
	if err != nil {
		f.Fatal(err)
	}
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
	v, keys := fuzzVerifier(f)
	for _, key := range keys {
		f.Add(tokenOf(key, `{"alg":"`+key.algorithm+`","kid":"`+key.id+`"}`, `{"sub":"42","exp":253402300799}`))
	}
	for _, token := range []string{"", "..", "a.b.c", commonHeader, commonHeader + ".", "eyJhbGciOiJub25lIn0.e30."} {
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

// A token that is signed with a known key is accepted if and only if a strict
// parser finds nothing wrong with it, and then with the claims of that parser.
func FuzzVerifySignedToken(f *testing.F) {
	v, keys := fuzzVerifier(f)
	headers := []string{`{"alg":"HS256","typ":"JWT"}`, `{"alg":"HS256","kid":"other"}`,
		`{"alg":"EdDSA","kid":"public"}`}
	for i, header := range headers {
		for _, payload := range []string{
			`{"sub":"42","exp":253402300799}`,
			`{"sub":"1","role":"admin","exp":4e9,"nbf":0.5,"iat":1,"aud":["a"],"iss":"b"}`,
			`{"sub":"42","exp":4e9,"Exp":1,"ROLE":"admin","a":{"b":[1,{"c":null}]}}`, `{"sub":"42","exp":4e9,"exp":1}`,
			`{"sub":"042","exp":1e400}`,
		} {
			f.Add(header, payload, byte(i))
		}
	}
	f.Add(`{"alg":"HS256","crit":["exp"]}`, `{"sub":"42","exp":4e9}`, byte(0))
	f.Add(`{"alg":"HS256","alg":"EdDSA"}`, `{"sub":"42","exp":4e9}`, byte(0))
	f.Fuzz(func(t *testing.T, header, payload string, signer byte) {
		key := keys[int(signer)%len(keys)]
		got, err := v.Verify(tokenOf(key, header, payload))
		want, claims, wrong := strictIdentity(key, header, payload)
		if (err == nil) != (wrong == nil) || err == nil && got != want {
			t.Fatalf("header %q payload %q key %q: %+v, %v; a strict parser: %+v, %v", header, payload, key.id, got,
				err, want, wrong)
		}
		if err != nil {
			return
		}
		again, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		if id, err := v.Verify(tokenOf(key, header, string(again))); err != nil || id != got {
			t.Errorf("payload %q encoded again as %q: %+v, %v; want %+v", payload, again, id, err, got)
		}
	})
}

func tokenOf(key fuzzKey, header, payload string) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(header)) + "." + encode([]byte(payload))
	return text + "." + encode(key.sign(text))
}

var userIDForm = regexp.MustCompile(`^[1-9][0-9]*$`)

// strictIdentity returns what a token states by the rules in docs/identity.md,
// or what is wrong with it.
func strictIdentity(key fuzzKey, headerText, payload string) (id Identity, c map[string]any, err error) {
	header, err := strictObject(headerText)
	if err != nil {
		return id, nil, fmt.Errorf("header: %w", err)
	}
	kid, _ := header["kid"].(string)
	_, critical := header["crit"]
	switch {
	case header["kid"] != nil && header["kid"] != any(kid):
		return id, nil, errors.New("kid is not a string")
	case header["alg"] != key.algorithm || critical:
		return id, nil, errors.New("alg or crit")
	case kid != key.id && (key.id != "" || kid == "other"):
		return id, nil, errors.New("the kid is of another key")
	}
	if c, err = strictObject(payload); err != nil {
		return id, nil, fmt.Errorf("payload: %w", err)
	}
	return identityOf(c)
}

func identityOf(c map[string]any) (id Identity, _ map[string]any, err error) {
	now := float64(time.Now().Unix())
	exp, err := strictDate(c, "exp")
	nbf, err2 := strictDate(c, "nbf")
	_, err3 := strictDate(c, "iat")
	sub, _ := c["sub"].(string)
	role, isString := c["role"].(string)
	id.UserID, _ = strconv.ParseInt(sub, 10, 64)
	if role == "admin" {
		id.Role = RoleAdmin
	}
	switch _, isIssuer := c["iss"].(string); {
	case errors.Join(err, err2, err3) != nil:
		return Identity{}, nil, errors.Join(err, err2, err3)
	case c["exp"] == nil || int64(exp) <= int64(now) || int64(nbf) > int64(now):
		return Identity{}, nil, errors.New("expired, or not valid yet")
	case !userIDForm.MatchString(sub) || strconv.FormatInt(id.UserID, 10) != sub:
		return Identity{}, nil, errors.New("sub is not a user id")
	case c["role"] != nil && !isString || c["iss"] != nil && !isIssuer || !isAudience(c["aud"]):
		return Identity{}, nil, errors.New("role, iss or aud of another type")
	}
	return id, c, nil
}

func isAudience(aud any) bool {
	list, isList := aud.([]any)
	_, isString := aud.(string)
	for _, item := range list {
		if _, ok := item.(string); !ok {
			return false
		}
	}
	return aud == nil || isList || isString
}

// strictDate returns a date, or 0 if it is absent.
func strictDate(c map[string]any, name string) (float64, error) {
	if c[name] == nil {
		return 0, nil
	}
	number, ok := c[name].(json.Number)
	if !ok {
		return 0, fmt.Errorf("%s is not a number", name)
	}
	date, err := number.Float64()
	if err != nil || date < 0 || date > 253402300799 {
		return 0, fmt.Errorf("%s is out of range", name)
	}
	return date, nil
}

// strictObject returns an object without duplicate names at any depth.
func strictObject(text string) (map[string]any, error) {
	if !utf8.ValidString(text) || unpairedSurrogate(text) {
		return nil, errors.New("not Unicode")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	value, err := strictValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("not an object")
	}
	return object, nil
}

// unpairedSurrogate reports whether encoding/json would replace an escape.
func unpairedSurrogate(text string) bool {
	var value any
	if !strings.Contains(text, `\u`) && !strings.Contains(text, `\U`) || json.Unmarshal([]byte(text), &value) != nil {
		return false
	}
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(value)
	return strings.Contains(b.String(), "\uFFFD") || strings.Contains(b.String(), `\ufffd`)
}

func strictValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return strictMembers(d)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			item, err := strictValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := d.Token()
		return list, err
	}
	return token, nil
}

func strictMembers(d *json.Decoder) (map[string]any, error) {
	object := map[string]any{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		if _, found := object[name.(string)]; found {
			return nil, fmt.Errorf("%q twice", name)
		}
		value, err := strictValue(d)
		if err != nil {
			return nil, err
		}
		object[name.(string)] = value
	}
	_, err := d.Token()
	return object, err
}
