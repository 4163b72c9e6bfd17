package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
)

const (
	refreshInterval = 5 * time.Minute
	fetchTimeout    = 10 * time.Second
	// unknownKeyInterval is the shortest time between two fetches for tokens
	// whose kid is unknown. Every client can send such tokens.
	unknownKeyInterval = 10 * time.Second
	// maxJWKS bounds the document. It has room for a thousand keys.
	maxJWKS = 1 << 20
)

// A fetcher fetches keys in the background: regularly, and when asked to.
type fetcher struct {
	url    *url.URL
	client *http.Client
	keys   *publicKeys
	failed func(error) // called for each fetch in the background that fails

	asked chan struct{} // has an element if a fetch has been asked for

	mu    sync.Mutex
	due   time.Time     // when the next fetch that is asked for may begin
	ended chan struct{} // closed when a fetch ends; nil if none was asked for since the last one
	begin time.Time     // when that fetch begins, or has begun
}

func newFetcher(u *url.URL, failed func(error)) *fetcher {
	return &fetcher{url: u, client: fetchClient(), keys: &publicKeys{jwkset.NewMemoryStorage()}, failed: failed,
		asked: make(chan struct{}, 1)}
}

// ask asks for a fetch. It returns a channel that is closed at its end, and when the
// fetch begins. All callers until its end share one fetch.
func (f *fetcher) ask() (ended <-chan struct{}, begin time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended == nil {
		f.ended, f.begin = make(chan struct{}), f.due
		select {
		case f.asked <- struct{}{}:
		default: // a regular fetch came before the one that was asked for
		}
	}
	return f.ended, f.begin
}

// run fetches the keys until ctx ends.
func (f *fetcher) run(ctx context.Context) {
	ticker := time.NewTicker(refreshInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-f.asked:
			if !f.awaitDue(ctx) {
				return
			}
		case <-ctx.Done():
			return
		}
		if err := f.fetch(ctx); err != nil && ctx.Err() == nil {
			f.failed(err)
		}
		f.end()
	}
}

// awaitDue waits until a fetch that was asked for may begin, and reports whether
// ctx has not ended before.
func (f *fetcher) awaitDue(ctx context.Context) bool {
	f.mu.Lock()
	due := f.due
	f.mu.Unlock()
	select {
	case <-time.After(time.Until(due)):
	case <-ctx.Done():
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.due = time.Now().Add(unknownKeyInterval)
	return true
}

func (f *fetcher) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended != nil {
		close(f.ended)
		f.ended = nil
	}
}

// fetch replaces the keys by those at the URL. The error does not quote the URL's
// query, which may hold a secret.
func (f *fetcher) fetch(ctx context.Context) error {
	_, err := jwkset.NewStorageFromHTTP(f.url.String(), jwkset.HTTPClientStorageOptions{
		Client: f.client, Ctx: ctx, HTTPTimeout: fetchTimeout, Storage: f.keys,
	})
	if err == nil {
		return nil
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	return fmt.Errorf("fetch %s: %w", withoutQuery(f.url), err)
}

func withoutQuery(u *url.URL) string {
	if u.Scheme == "file" {
		return u.Path
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
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
