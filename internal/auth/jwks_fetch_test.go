package auth

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"example.com/flashsale/internal/auth/authtest"
)

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
	if err != nil {
		t.Fatal(err)
	}
	f := newFetcher(u, func(err error) { t.Log(err) })
	f.client = &http.Client{Transport: slowProvider{p, latency}}
	jwks, err := openFetcher(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
func TestFewTokensWaitForAFetch(t *testing.T) {
	t.Parallel()
	p, other := authtest.NewProvider(t), authtest.NewProvider(t)
	p.Add(t, "1", "EdDSA")
	other.Add(t, "unknown", "EdDSA")
	synctest.Test(t, func(t *testing.T) {
		v := openSlow(t, p, 9*time.Second)
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
		time.Sleep(unknownKeyInterval + unknownKeyTimeout)
	})
}
