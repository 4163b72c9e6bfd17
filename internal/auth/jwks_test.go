package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"example.com/flashsale/internal/auth/authtest"
	"example.com/flashsale/internal/check"
)

var algorithms = []string{"RS256", "ES256", "EdDSA"}

func user42() jwt.MapClaims {
	return jwt.MapClaims{"sub": "42", "exp": time.Now().Add(time.Hour).Unix()}
}

// openJWKS returns a verifier with the keys at location, and the secret.
func openJWKS(tb testing.TB, location string) *Verifier {
	tb.Helper()
	jwks, err := OpenJWKS(tb.Context(), location, func(err error) { tb.Log(err) })
	check.NoError(tb, err)
	return NewVerifier(Config{Secrets: []Secret{{Key: secret}}, JWKS: jwks})
}

func wantAccepted(tb testing.TB, v *Verifier, name, token string, want bool) {
	tb.Helper()
	if _, err := v.Verify(token); (err == nil) != want {
		tb.Errorf("%s: %v, want accepted: %t", name, err, want)
	}
}

func TestPublicKeysVerifyTokens(t *testing.T) {
	t.Parallel()
	p := authtest.NewProvider(t)
	for _, algorithm := range algorithms {
		p.Add(t, "key-"+algorithm, algorithm)
	}
	file := writeJWKS(t, p, filepath.Join(t.TempDir(), "jwks.json"))
	for _, location := range []string{p.URL, p.URL + "/keys?a=b", file} {
		v := openJWKS(t, location)
		for _, algorithm := range algorithms {
			id, err := v.Verify(p.Sign(t, "key-"+algorithm, user42()))
			if err != nil || id.UserID != 42 {
				t.Errorf("%s with keys of %s: %+v, %v", algorithm, location, id, err)
			}
		}
		wantAccepted(t, v, "the secret beside public keys", sign(t, Identity{UserID: 42}), true)
	}
}

// A token must be signed with the algorithm of the key that it names.
func TestAlgorithmIsThatOfTheKey(t *testing.T) {
	t.Parallel()
	p, other := authtest.NewProvider(t), authtest.NewProvider(t)
	for _, algorithm := range algorithms {
		p.Add(t, algorithm, algorithm)
		other.Add(t, algorithm, algorithm)
	}
	v := openJWKS(t, p.URL)
	for _, algorithm := range algorithms {
		wantAccepted(t, v, "another provider's "+algorithm, other.Sign(t, algorithm, user42()), false)
		for name, key := range encodings(t, p, algorithm) {
			wantAccepted(t, v, name+" of "+algorithm+" as secret",
				signWith(t, jwt.SigningMethodHS256, algorithm, key), false)
		}
	}
	wantAccepted(t, v, "HS384", signWith(t, jwt.SigningMethodHS384, "", secret), false)
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	check.NoError(t, err)
	for _, id := range []string{"RS256", "ES256", "EdDSA", "", "unknown"} {
		wantAccepted(t, v, "none, kid "+id, signWith(t, jwt.SigningMethodNone, id, jwt.UnsafeAllowNoneSignatureType),
			false)
		wantAccepted(t, v, "own RSA key, kid "+id, signWith(t, jwt.SigningMethodRS256, id, rs), false)
	}
	for _, name := range []string{"PS256", "RS384", "RS512"} {
		method := jwt.GetSigningMethod(name)
		wantAccepted(t, v, "key of RS256 with "+name, signWith(t, method, "RS256", p.Private("RS256")), false)
	}
	wantAccepted(t, NewVerifier(Config{Secrets: []Secret{{Key: secret}}}), "no JWKS",
		p.Sign(t, "RS256", user42()), false)
	withoutSecret := NewVerifier(Config{JWKS: v.jwks})
	wantAccepted(t, withoutSecret, "public key without a secret", p.Sign(t, "RS256", user42()), true)
	wantAccepted(t, withoutSecret, "HS256 without a secret", signWith(t, jwt.SigningMethodHS256, "", []byte{}), false)
}

// encodings returns the forms of a public key that a confused verifier might use
// as a secret.
func encodings(tb testing.TB, p *authtest.Provider, id string) map[string][]byte {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(p.Private(id).Public())
	check.NoError(tb, err)
	jwks, err := p.JWKS()
	check.NoError(tb, err)
	return map[string][]byte{"DER": der, "JWKS": jwks, "empty": {}}
}

func signWith(tb testing.TB, method jwt.SigningMethod, id string, key any) string {
	tb.Helper()
	t := jwt.NewWithClaims(method, user42())
	if id != "" {
		t.Header["kid"] = id
	}
	token, err := t.SignedString(key)
	check.NoError(tb, err)
	return token
}

func TestNewKeyIsFetchedWhenATokenNamesIt(t *testing.T) {
	t.Parallel()
	p := authtest.NewProvider(t)
	p.Add(t, "1", "ES256")
	v := openJWKS(t, p.URL)
	old := p.Sign(t, "1", user42())
	p.Rotate(t, "2", "EdDSA")
	current := p.Sign(t, "2", user42())
	// they wait for one fetch together
	check.AtOnce(20, func(int) { wantAccepted(t, v, "the new key", current, true) })
	wantAccepted(t, v, "the old key after the fetch", old, false)
	if n := p.Fetches.Load(); n != 2 {
		t.Errorf("%d fetches, want 2", n)
	}
}

func TestUnknownKeysAreFetchedRarely(t *testing.T) {
	t.Parallel()
	p := authtest.NewProvider(t)
	p.Add(t, "1", "ES256")
	v := openJWKS(t, p.URL)
	known := p.Sign(t, "1", user42())
	other := authtest.NewProvider(t)
	other.Add(t, "2", "ES256")
	unknown := other.Sign(t, "2", user42())
	wantAccepted(t, v, "no kid", signWith(t, jwt.SigningMethodES256, "", other.Private("2")), false)
	if n := p.Fetches.Load(); n != 1 {
		t.Errorf("a token without a kid has caused %d fetches", n-1)
	}
	start := time.Now()
	for range 1000 {
		wantAccepted(t, v, "unknown key", unknown, false)
	}
	wantAccepted(t, v, "known key", known, true)
	if n := p.Fetches.Load(); n > 2+int64(time.Since(start)/unknownKeyInterval) {
		t.Errorf("%d fetches in %v", n, time.Since(start))
	}
}

// An empty set, or an error page with status 200, would refuse every user.
func TestSetWithoutKeysIsAFailedFetch(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"keys":[]}`, `{"error":"maintenance"}`, `{}`, `null`, `[]`, `<html>`, ``,
		`{"keys":[{"kty":"oct","kid":"1","k":"c2VjcmV0"}]}`} {
		dir := t.TempDir()
		file := filepath.Join(dir, "jwks.json")
		p := authtest.NewProvider(t)
		p.Add(t, "1", "EdDSA")
		v := openJWKS(t, writeJWKS(t, p, file))
		write(t, file, body)
		p.Add(t, "2", "EdDSA")
		wantAccepted(t, v, "unknown key with "+body, p.Sign(t, "2", user42()), false)
		wantAccepted(t, v, "known key with "+body, p.Sign(t, "1", user42()), true)
		if _, err := OpenJWKS(t.Context(), file, nil); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("at start, %s: %v", body, err)
		}
	}
}

// RFC 7517, section 5: whatever is wrong with one key of a set, the others are not refused for it. What
// is said of a key's certificate is nothing that verifies a token.
func TestOneKeyDoesNotSpoilTheSet(t *testing.T) {
	t.Parallel()
	p := authtest.NewProvider(t)
	p.Add(t, "good", "EdDSA")
	set, err := p.JWKS()
	check.NoError(t, err)
	good := strings.TrimSuffix(strings.TrimPrefix(string(set), `{"keys":[`), `]}`)
	for _, keys := range []string{
		`{"kty":"RSA","kid":"1","e":"AQAB"},` + good,
		`{"kty":"EC","crv":"P-256","kid":"1","x":"AQ","y":"AQ"},` + good,
		`{"kty":"EC","crv":"secp256k1","kid":"1","x":"AQ","y":"AQ"},` + good,
		`{"kty":"OKP","crv":"Ed25519","kid":"1","x":"AQ"},` + good,
		`{"kty":"AKP","kid":"1","pub":"AQ"},{"kid":7},null,"key",` + good,
		strings.Replace(good, "{", `{"use":"other","kid":"1"},{`, 1),
		strings.Replace(good, "{", `{"key_ops":["other"],"x5c":["AQ=="],"x5t":"AQ","x5u":"http://127.0.0.1:1/",`, 1),
	} {
		file := filepath.Join(t.TempDir(), "jwks.json")
		write(t, file, `{"keys":[`+keys+`]}`)
		wantAccepted(t, openJWKS(t, file), "in "+keys, p.Sign(t, "good", user42()), true)
	}
}

// Keys of different types may have one id: RFC 7517, section 4.5.
func TestKeysOfOneIDAreToldApartByTheirAlgorithm(t *testing.T) {
	t.Parallel()
	var both []string
	providers := map[string]*authtest.Provider{}
	for _, algorithm := range algorithms {
		p := authtest.NewProvider(t)
		p.Add(t, "1", algorithm)
		set, err := p.JWKS()
		check.NoError(t, err)
		both = append(both, strings.TrimSuffix(strings.TrimPrefix(string(set), `{"keys":[`), `]}`))
		providers[algorithm] = p
	}
	file := filepath.Join(t.TempDir(), "jwks.json")
	write(t, file, `{"keys":[`+strings.Join(both, ",")+`]}`)
	v := openJWKS(t, file)
	for algorithm, p := range providers {
		wantAccepted(t, v, algorithm, p.Sign(t, "1", user42()), true)
	}
}

func TestUnusableKeysAreLeftOut(t *testing.T) {
	t.Parallel()
	p := authtest.NewProvider(t)
	p.Add(t, "good", "EdDSA")
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	check.NoError(t, err)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	check.NoError(t, err)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	check.NoError(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	point, err := p384.PublicKey.Bytes()
	check.NoError(t, err)
	public := encode(private.Public().(ed25519.PublicKey))
	for id, test := range map[string]struct {
		jwk    map[string]string
		method jwt.SigningMethod
		key    any
	}{
		"small": {map[string]string{"kty": "RSA", "n": encode(small.N.Bytes()), "e": "AQAB"},
			jwt.SigningMethodRS256, small},
		"P-384": {map[string]string{"kty": "EC", "crv": "P-384", "x": encode(point[1:49]), "y": encode(point[49:])},
			jwt.SigningMethodES384, p384},
		"secret": {map[string]string{"kty": "oct", "k": encode([]byte("a secret that is in the JWKS, 32 bytes"))},
			jwt.SigningMethodHS256, []byte("a secret that is in the JWKS, 32 bytes")},
		"private": {map[string]string{"kty": "OKP", "crv": "Ed25519", "x": public, "d": encode(private.Seed())},
			jwt.SigningMethodEdDSA, private},
		"enc": {map[string]string{"kty": "OKP", "crv": "Ed25519", "x": public, "use": "enc"},
			jwt.SigningMethodEdDSA, private},
		"": {map[string]string{"kty": "OKP", "crv": "Ed25519", "x": public}, jwt.SigningMethodEdDSA, private},
		"alg": {map[string]string{"kty": "OKP", "crv": "Ed25519", "x": public, "alg": "ES256"},
			jwt.SigningMethodEdDSA, private},
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			test.jwk["kid"] = id
			file := filepath.Join(t.TempDir(), "jwks.json")
			writeJWKS(t, p, file)
			addKey(t, file, test.jwk)
			v := openJWKS(t, file)
			wantAccepted(t, v, "the key beside it", p.Sign(t, "good", user42()), true)
			wantAccepted(t, v, "the key", signWith(t, test.method, id, test.key), false)
			write(t, file, `{"keys":[]}`)
			addKey(t, file, test.jwk)
			if _, err := OpenJWKS(t.Context(), file, nil); err == nil {
				t.Error("a set of this key only is accepted at start")
			}
		})
	}
}

// addKey adds a key to the JWKS in a file.
func addKey(tb testing.TB, file string, jwk map[string]string) {
	tb.Helper()
	text, err := os.ReadFile(file)
	check.NoError(tb, err)
	var set struct {
		Keys []any `json:"keys"`
	}
	check.NoError(tb, json.Unmarshal(text, &set))
	set.Keys = append(set.Keys, jwk)
	text, err = json.Marshal(set)
	check.NoError(tb, err)
	write(tb, file, string(text))
}

func TestKeysAreFetchedEveryFiveMinutes(t *testing.T) {
	t.Parallel()
	p := authtest.NewProvider(t)
	p.Add(t, "1", "EdDSA")
	file := writeJWKS(t, p, filepath.Join(t.TempDir(), "jwks.json"))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		jwks, err := OpenJWKS(ctx, file, func(err error) { t.Log(err) })
		check.NoError(t, err)
		v := NewVerifier(Config{JWKS: jwks})
		claims := jwt.MapClaims{"sub": "42", "exp": time.Now().Add(time.Hour).Unix()}
		removed := p.Sign(t, "1", claims)
		p.Rotate(t, "2", "EdDSA")
		writeJWKS(t, p, file)
		time.Sleep(refreshInterval - time.Second)
		wantAccepted(t, v, "a removed key, before the next fetch", removed, true)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantAccepted(t, v, "a removed key, after the next fetch", removed, false)
		wantAccepted(t, v, "the new key", p.Sign(t, "2", claims), true)
		check.NoError(t, os.Remove(file))
		time.Sleep(refreshInterval)
		wantAccepted(t, v, "after the file's end", p.Sign(t, "2", claims), true)
	})
}

func TestLocationOfKeys(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]bool{
		"https://login.example.com/keys": true, "http://127.0.0.1:8080/keys": true, "http://[::1]/keys": true,
		"http://localhost/keys": true,
		"/etc/keys.json":        true, "keys.json": true,
		"http://login.example.com/keys": false, "http://127.0.0.1.example.com/": false,
		"https://user:password@login.example.com/": false,
		"https://": false, "https:///keys": false, "ftp://login.example.com/": false, "file:///etc/keys.json": false,
		"http://[::1": false,
	} {
		if _, err := ParseJWKSLocation(location); (err == nil) != want {
			t.Errorf("%q: %v, want accepted: %t", location, err, want)
		}
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	p := authtest.NewProvider(t)
	p.Add(t, "1", "EdDSA")
	redirect := httptest.NewServer(http.RedirectHandler(p.URL, http.StatusFound))
	t.Cleanup(redirect.Close)
	if _, err := OpenJWKS(t.Context(), redirect.URL, nil); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("%v, want status 302", err)
	}
}

func writeJWKS(tb testing.TB, p *authtest.Provider, file string) string {
	tb.Helper()
	text, err := p.JWKS()
	check.NoError(tb, err)
	write(tb, file, string(text))
	return file
}

func write(tb testing.TB, file, text string) {
	tb.Helper()
	check.NoError(tb, os.WriteFile(file, []byte(text), 0o600))
}

// The transport of the bubble: its replies take as long as the provider's.
type slowProvider struct {
	*authtest.Provider
	latency time.Duration
}

func (p slowProvider) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(p.latency):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	p.Config.Handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// openSlow returns a verifier with the keys of a provider that takes its time.
func openSlow(t *testing.T, p *authtest.Provider, latency time.Duration) *Verifier {
	t.Helper()
	u, err := ParseJWKSLocation(p.URL)
	check.NoError(t, err)
	client := &http.Client{Transport: slowProvider{p, latency}}
	jwks, err := open(t.Context(), u, client, func(err error) { t.Log(err) })
	check.NoError(t, err)
	return NewVerifier(Config{JWKS: jwks})
}

// Users send tokens of a new key all the time. The fetch for another unknown key
// was a moment ago, and the provider may need longer than a token waits.
func TestNewKeyIsFetchedUnderSteadyTraffic(t *testing.T) {
	t.Parallel()
	for _, latency := range []time.Duration{300 * time.Millisecond, 3 * time.Second, 9 * time.Second} {
		p, other := authtest.NewProvider(t), authtest.NewProvider(t)
		p.Add(t, "1", "EdDSA")
		other.Add(t, "unknown", "EdDSA")
		synctest.Test(t, func(t *testing.T) {
			v := openSlow(t, p, latency)
			claims := jwt.MapClaims{"sub": "42", "exp": time.Now().Add(time.Hour).Unix()}
			wantAccepted(t, v, "unknown key", other.Sign(t, "unknown", claims), false)
			p.Add(t, "2", "EdDSA")
			current := p.Sign(t, "2", claims)
			start := time.Now()
			for range 2 * unknownKeyInterval / (100 * time.Millisecond) {
				time.Sleep(100 * time.Millisecond)
				go func() { _, _ = v.Verify(current) }()
			}
			synctest.Wait()
			time.Sleep(unknownKeyTimeout)
			wantAccepted(t, v, "the new key after "+time.Since(start).String(), current, true)
			wantAccepted(t, v, "the old key", p.Sign(t, "1", claims), true)
		})
	}
}

func TestLargeJWKSIsAFailedFetch(t *testing.T) {
	t.Parallel()
	p := authtest.NewProvider(t)
	p.Add(t, "1", "EdDSA")
	keys, err := p.JWKS()
	check.NoError(t, err)
	var read atomic.Int64
	large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(keys[:1])
		for range 100 {
			n, _ := w.Write(bytes.Repeat([]byte(" "), maxJWKS))
			read.Add(int64(n))
		}
		_, _ = w.Write(keys[1:])
	}))
	t.Cleanup(large.Close)
	if _, err := OpenJWKS(t.Context(), large.URL, nil); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%d bytes: %v", read.Load(), err)
	}
	if n := read.Load(); n > 20*maxJWKS {
		t.Errorf("%d bytes were taken", n)
	}
}

// The query may hold the client's secret.
func TestFailedFetchDoesNotQuoteTheQuery(t *testing.T) {
	t.Parallel()
	p := authtest.NewProvider(t)
	p.Fail.Store(true)
	for _, stop := range []func(){func() {}, p.Close} {
		stop()
		_, err := OpenJWKS(t.Context(), p.URL+"/keys?secret=hunter2", nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), p.URL+"/keys") {
			t.Errorf("got %v", err)
		}
	}
}

// Anybody can name an unknown key, and holds a place of other requests while the token waits.
func TestFewTokensWaitForAFetchAndNotLong(t *testing.T) {
	t.Parallel()
	p, other := authtest.NewProvider(t), authtest.NewProvider(t)
	p.Add(t, "1", "EdDSA")
	other.Add(t, "unknown", "EdDSA")
	synctest.Test(t, func(t *testing.T) {
		v := openSlow(t, p, fetchTimeout-time.Second)
		token := other.Sign(t, "unknown", jwt.MapClaims{"sub": "42", "exp": time.Now().Add(time.Hour).Unix()})
		var waiting atomic.Int64
		for range 10 * maxWaiting {
			go func() {
				waiting.Add(1)
				_, _ = v.Verify(token)
				waiting.Add(-1)
			}()
		}
		synctest.Wait()
		if n := waiting.Load(); n != maxWaiting {
			t.Errorf("%d tokens wait, want %d", n, maxWaiting)
		}
		time.Sleep(unknownKeyTimeout - time.Nanosecond)
		if n := waiting.Load(); n != maxWaiting {
			t.Errorf("%d tokens wait until their time is up, want %d", n, maxWaiting)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if n := waiting.Load(); n != 0 {
			t.Errorf("%d tokens wait for longer than %s", n, unknownKeyTimeout)
		}
		time.Sleep(fetchTimeout) // until the fetch has ended
	})
}
