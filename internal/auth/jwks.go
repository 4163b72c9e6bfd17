package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
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
	keys   atomic.Pointer[publicKeys]
	failed func(error) // called for each fetch that fails, after the first

	fetches singleflight.Group // of unknown keys, which tokens share
	due     *rate.Limiter      // says when another may begin
	waiting chan struct{}      // has an element for each token that waits
}

// publicKeys holds keys by what a token names. Keys of different types may have the same id.
type publicKeys map[keyName]any

type keyName struct{ id, algorithm string }

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
		ctx: ctx, url: u, client: client, failed: failed,
		due: rate.NewLimiter(rate.Every(unknownKeyInterval), 1), waiting: make(chan struct{}, maxWaiting),
	}
	if err := j.fetch(); err != nil {
		return nil, err
	}
	go j.refresh()
	return j, nil
}

// refresh fetches the keys after each interval, until the context ends.
func (j *JWKS) refresh() {
	ticker := time.NewTicker(refreshInterval)
	defer ticker.Stop()
	for {
		select {
		case <-j.ctx.Done():
			return
		case <-ticker.C:
			j.report(j.fetch())
		}
	}
}

// fetch replaces the keys by those at the URL, unless none of them is usable: an error page
// may be valid JSON, too.
func (j *JWKS) fetch() error {
	ctx, cancel := context.WithTimeout(j.ctx, fetchTimeout)
	defer cancel()
	keys, err := j.get(ctx)
	if err == nil && len(keys) == 0 {
		err = errors.New("no key with a kid is for RS256 (2048 bits or more), ES256 or EdDSA (Ed25519)")
	}
	if err != nil {
		return j.explained(err)
	}
	j.keys.Store(&keys)
	return nil
}

func (j *JWKS) get(ctx context.Context) (publicKeys, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, j.url.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := j.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, maxJWKS)).Decode(&set); err != nil {
		return nil, err
	}
	return usable(set.Keys), nil
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

// key returns the key that a token names. If it is unknown, key waits for a fetch that is running
// or due, if few wait; the fetch goes on after that.
func (j *JWKS) key(name keyName) (any, error) {
	key, found := (*j.keys.Load())[name]
	if !found && name.id != "" {
		j.awaitFetch()
		key, found = (*j.keys.Load())[name]
	}
	if !found {
		return nil, errors.New("no public key has this kid and is for this algorithm")
	}
	return key, nil
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
		j.report(j.fetch())
	}
	return nil, nil
}

// usable returns those of the keys that can verify tokens. RFC 7517, section 5, has the others
// ignored, however they are malformed. Certificates beside a key say nothing that is needed, and
// their fingerprints are wrong in the sets of some providers.
func usable(set []json.RawMessage) publicKeys {
	keys := publicKeys{}
	for _, text := range set {
		var m jwkset.JWKMarshal
		if json.Unmarshal(text, &m) != nil || m.KID == "" || m.USE != "" && m.USE != jwkset.UseSig {
			continue
		}
		m.X5C = nil
		jwk, err := jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{Private: true},
			jwkset.JWKValidateOptions{SkipAll: true})
		if err != nil {
			continue
		}
		if algorithm := algorithmOf(jwk.Key()); algorithm != "" && (m.ALG == "" || m.ALG == algorithm) {
			keys[keyName{m.KID, string(algorithm)}] = jwk.Key()
		}
	}
	return keys
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
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
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
