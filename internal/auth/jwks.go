package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

// unknownKeyTimeout is the longest time that a token with an unknown kid waits for
// a fetch.
const unknownKeyTimeout = 2 * time.Second

// maxWaiting is how many tokens wait for a fetch at a time. Every client can send such
// tokens, and each that waits holds what other requests need.
const maxWaiting = 64

// A JWKS is a set of public keys (RFC 7517) at a URL or in a file. It is fetched
// every five minutes, and when a token names an unknown key, but then at most
// once in ten seconds. If fetching fails, the previous keys remain. It is safe
// for concurrent use.
type JWKS struct {
	fetcher *fetcher
	keyfunc keyfunc.Keyfunc
	waiting chan struct{} // one element for each token that waits
}

var errLocation = errors.New("must be an https URL without a password, an http URL on this host, or the path of a file")

func isLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// ParseJWKSLocation returns the URL of a location, which is a URL with the
// scheme https, with http only on this host, or else the path of a file.
func ParseJWKSLocation(location string) (*url.URL, error) {
	u, err := url.Parse(location)
	switch {
	case err != nil, u.User != nil, u.Scheme == "https" && u.Host == "":
		return nil, errLocation
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return u, nil
	case u.Scheme != "":
		return nil, errLocation
	}
	path, err := filepath.Abs(location)
	return &url.URL{Scheme: "file", Path: path}, err
}

// OpenJWKS fetches the keys at a location. It returns an error if that fails or
// if there is no usable key. Until ctx ends, it fetches them again in the
// background, and calls failed for each fetch that fails.
func OpenJWKS(ctx context.Context, location string, failed func(error)) (*JWKS, error) {
	u, err := ParseJWKSLocation(location)
	if err != nil {
		return nil, err
	}
	return openFetcher(ctx, newFetcher(u, failed))
}

func openFetcher(ctx context.Context, f *fetcher) (*JWKS, error) {
	if err := f.fetch(ctx); err != nil {
		return nil, err
	}
	keys, err := keyfunc.New(keyfunc.Options{Ctx: ctx, Storage: f.keys})
	if err != nil {
		return nil, err
	}
	go f.run(ctx)
	return &JWKS{f, keys, make(chan struct{}, maxWaiting)}, nil
}

// key returns the key that a token names. A token that names an unknown key waits
// for the next fetch, if that begins soon and few wait; the fetch goes on after that.
func (j *JWKS) key(token *jwt.Token, id string) (any, error) {
	if id == "" {
		return nil, errors.New("the token names no key")
	}
	if _, err := j.fetcher.keys.KeyRead(context.Background(), id); err != nil {
		j.awaitFetch()
	}
	return j.keyfunc.Keyfunc(token)
}

func (j *JWKS) awaitFetch() {
	ended, begin := j.fetcher.ask()
	if time.Until(begin) >= unknownKeyTimeout {
		return
	}
	select {
	case j.waiting <- struct{}{}:
		defer func() { <-j.waiting }()
	default:
		return
	}
	select {
	case <-ended:
	case <-time.After(unknownKeyTimeout):
	}
}

// publicKeys holds the keys that can verify tokens.
type publicKeys struct{ *jwkset.MemoryJWKSet }

// KeyReplaceAll replaces the keys by those of fetched that can verify tokens. It
// keeps them and returns an error if there is none: an error page may be valid
// JSON, too.
func (p *publicKeys) KeyReplaceAll(ctx context.Context, fetched []jwkset.JWK) error {
	var usable []jwkset.JWK
	for _, key := range fetched {
		if canVerify(key) {
			usable = append(usable, key)
		}
	}
	if len(usable) == 0 {
		return errors.New("no key with a kid is for RS256 (2048 bits or more), ES256 or EdDSA (Ed25519)")
	}
	return p.MemoryJWKSet.KeyReplaceAll(ctx, usable)
}

// canVerify reports whether tokens can name the key, and whether it is meant
// for signatures with the algorithm of its type.
func canVerify(key jwkset.JWK) bool {
	m, algorithm := key.Marshal(), algorithmOf(key.Key())
	named := m.KID != ""
	signs := m.USE == "" || m.USE == jwkset.UseSig
	return named && signs && algorithm != "" && (m.ALG == "" || m.ALG == algorithm)
}

// algorithmOf returns the one algorithm that a public key is used with, or "" if
// there is none. A secret or a private key has none.
func algorithmOf(key any) jwkset.ALG {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() >= 2048 {
			return jwkset.AlgRS256
		}
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return jwkset.AlgES256
		}
	case ed25519.PublicKey:
		return jwkset.AlgEdDSA
	}
	return ""
}
