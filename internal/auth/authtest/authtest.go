// Package authtest runs an identity provider for tests: it has keys, publishes
// the public ones as a JWKS over HTTP, and signs tokens.
package authtest

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"example.com/flashsale/internal/check"
)

// A Provider is an identity provider. It is safe for concurrent use.
type Provider struct {
	*httptest.Server
	Fetches atomic.Int64 // of the JWKS
	Fail    atomic.Bool  // makes the server reply 500

	mu   sync.Mutex
	keys map[string]key
}

type key struct {
	method  jwt.SigningMethod
	private crypto.Signer
}

// NewProvider starts a provider without keys. It stops at the end of the test.
func NewProvider(tb testing.TB) *Provider {
	p := &Provider{keys: map[string]key{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	tb.Cleanup(p.Close)
	return p
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	p.Fetches.Add(1)
	body, err := p.JWKS()
	if err != nil || p.Fail.Load() {
		http.Error(w, "the provider fails", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/jwk-set+json")
	_, _ = w.Write(body)
}

// Rotate replaces all keys by a new one of the algorithm.
func (p *Provider) Rotate(tb testing.TB, id, algorithm string) {
	tb.Helper()
	p.mu.Lock()
	clear(p.keys)
	p.mu.Unlock()
	p.Add(tb, id, algorithm)
}

// Add adds a new key of the algorithm: RS256, ES256 or EdDSA.
func (p *Provider) Add(tb testing.TB, id, algorithm string) {
	tb.Helper()
	private, err := generate(algorithm)
	check.NoError(tb, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys[id] = key{jwt.GetSigningMethod(algorithm), private}
}

func generate(algorithm string) (crypto.Signer, error) {
	switch algorithm {
	case "RS256":
		return rsa.GenerateKey(rand.Reader, 2048)
	case "ES256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return private, err
	}
}

// Private returns a private key.
func (p *Provider) Private(id string) crypto.Signer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[id].private
}

// JWKS returns the document that the provider publishes.
func (p *Provider) JWKS() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := jwkset.NewMemoryStorage()
	for id, k := range p.keys {
		metadata := jwkset.JWKMetadataOptions{KID: id, ALG: jwkset.ALG(k.method.Alg()), USE: jwkset.UseSig}
		jwk, err := jwkset.NewJWKFromKey(k.private.Public(), jwkset.JWKOptions{Metadata: metadata})
		if err != nil {
			return nil, err
		}
		if err := set.KeyWrite(context.Background(), jwk); err != nil {
			return nil, err
		}
	}
	return set.JSONPublic(context.Background())
}

// Sign returns a token of the claims that is signed with a key.
func (p *Provider) Sign(tb testing.TB, id string, claims jwt.MapClaims) string {
	tb.Helper()
	p.mu.Lock()
	k := p.keys[id]
	p.mu.Unlock()
	t := jwt.NewWithClaims(k.method, claims)
	t.Header["kid"] = id
	token, err := t.SignedString(k.private)
	check.NoError(tb, err)
	return token
}
