package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/MicahParks/jwkset"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

const (
	refreshInterval = 5 * time.Minute
	fetchTimeout    = 10 * time.Second
	// unknownKeyInterval is the shortest time between two fetches for tokens whose kid is
	// unknown. Every client can send such tokens.
	unknownKeyInterval = 10 * time.Second
	// unknownKeyTimeout is the longest time that such a token waits for a fetch.
	unknownKeyTimeout = 2 * time.Second
	// maxWaiting is how many of them wait at a time: each holds what other requests need.
	maxWaiting = 64
	// maxJWKS bounds the document. It has room for a thousand keys.
	maxJWKS = 1 << 20
)

// A JWKS is a set of public keys (RFC 7517) at a URL or in a file. It is fetched
// every five minutes, and when a token names an unknown key, but then at most
// once in ten seconds. If fetching fails, the previous keys remain. It is safe
// for concurrent use.
type JWKS struct {
	ctx    context.Context // of fetches
	url    *url.URL
	client *http.Client
	keys   publicKeys
	failed func(error) // called for each fetch that fails, after the first

	fetches singleflight.Group // of unknown keys, which tokens share
	due     *rate.Limiter      // says when another may begin
	waiting chan struct{}      // has an element for each token that waits
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
	return open(ctx, u, fetchClient(), failed)
}

func open(ctx context.Context, u *url.URL, client *http.Client, failed func(error)) (*JWKS, error) {
	j := &JWKS{
		ctx: ctx, url: u, client: client, keys: publicKeys{jwkset.NewMemoryStorage()}, failed: failed,
		due: rate.NewLimiter(rate.Every(unknownKeyInterval), 1), waiting: make(chan struct{}, maxWaiting),
	}
	return j, j.fetch(refreshInterval)
}

// fetch replaces the keys by those at the URL, and again after each interval, unless
// it is 0.
func (j *JWKS) fetch(interval time.Duration) error {
	_, err := jwkset.NewStorageFromHTTP(j.url.String(), jwkset.HTTPClientStorageOptions{
		Client: j.client, Ctx: j.ctx, HTTPTimeout: fetchTimeout, Storage: j.keys, RefreshInterval: interval,
		RefreshErrorHandler: func(_ context.Context, err error) { j.report(j.explained(err)) },
	})
	return j.explained(err)
}

// report calls failed, unless the context of the fetches has ended.
func (j *JWKS) report(err error) {
	if err != nil && j.ctx.Err() == nil {
		j.failed(err)
	}
}

// explained names the URL without the query, which may hold a secret.
func (j *JWKS) explained(err error) error {
	if err == nil {
		return nil
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	return fmt.Errorf("fetch %s: %w", withoutQuery(j.url), err)
}

func withoutQuery(u *url.URL) string {
	if u.Scheme == "file" {
		return u.Path
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// key returns the key with an id. If it is unknown, key waits for a fetch that is running or
// due, if few wait; the fetch goes on after that.
func (j *JWKS) key(id string) (any, error) {
	key, err := j.keys.KeyRead(j.ctx, id)
	if err != nil && id != "" {
		j.awaitFetch()
		key, err = j.keys.KeyRead(j.ctx, id)
	}
	return key.Key(), err
}

func (j *JWKS) awaitFetch() {
	ended := j.fetches.DoChan("", j.fetchIfDue)
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

func (j *JWKS) fetchIfDue() (any, error) {
	if j.due.Allow() {
		j.report(j.fetch(0))
	}
	return nil, nil
}

// publicKeys holds the keys that can verify tokens.
type publicKeys struct{ jwkset.Storage }

// KeyReplaceAll replaces the keys by those of fetched that can verify tokens. It
// keeps them and returns an error if there is none: an error page may be valid
// JSON, too.
func (p publicKeys) KeyReplaceAll(ctx context.Context, fetched []jwkset.JWK) error {
	var usable []jwkset.JWK
	for _, key := range fetched {
		if canVerify(key) {
			usable = append(usable, key)
		}
	}
	if len(usable) == 0 {
		return errors.New("no key with a kid is for RS256 (2048 bits or more), ES256 or EdDSA (Ed25519)")
	}
	return p.Storage.KeyReplaceAll(ctx, usable)
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

// fetchClient returns a client that reads file URLs, too, and does not follow
// redirects, which may lead to a URL without TLS.
func fetchClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.RegisterProtocol("file", files{})
	return &http.Client{
		Transport:     limited{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// limited is a transport whose responses end with an error after maxJWKS bytes.
type limited struct{ http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxJWKS)
	}
	return resp, err
}

// files is a transport that replies with the content of files.
type files struct{}

func (files) RoundTrip(r *http.Request) (*http.Response, error) {
	f, err := os.Open(r.URL.Path)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: f, Request: r}, nil
}
