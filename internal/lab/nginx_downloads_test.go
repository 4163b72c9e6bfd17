package lab_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// A client that does not read must not make nginx store the response.
func TestSlowReadersDoNotFillTheDisk(t *testing.T) {
	t.Parallel()
	written := make(chan struct{})
	n := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 16<<20))
		close(written)
	}, lab.NoLimits, verbose)
	resp, err := http.Get(n.URL + "/orders")
	check.NoError(t, err)
	defer resp.Body.Close()
	select {
	case <-written:
	case <-time.After(300 * time.Millisecond): // nginx would have stored it by then
	}
	if size, err := io.Copy(io.Discard, resp.Body); err != nil || size != 16<<20 {
		t.Errorf("read %d bytes: %v", size, err)
	}
	if log := n.LogTail(); strings.Contains(log, "temporary file") {
		t.Errorf("nginx logs %s", log)
	}
}

// docs is an instance that serves text below /docs/, compressed where the client accepts that,
// and counts the requests for each encoding.
type docs struct {
	text              string
	plain, compressed atomic.Int64
}

func (d *docs) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Header().Set("Vary", "Accept-Encoding")
	if r.Header.Get("Accept-Encoding") != "gzip" {
		d.plain.Add(1)
		_, _ = io.WriteString(w, d.text)
		return
	}
	d.compressed.Add(1)
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, _ = io.WriteString(z, d.text)
	_ = z.Close()
}

// getDocs requests the i-th name of one file, and leaves its body unread.
func getDocs(t *testing.T, n *lab.Nginx, i int, encoding string) *http.Response {
	t.Helper()
	url := fmt.Sprintf("%s/docs/bundle.js?%d", n.URL, i)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	check.NoError(t, err)
	req.Header.Set("Accept-Encoding", encoding)
	resp, err := http.DefaultClient.Do(req)
	check.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// If nginx unpacked the file for clients without gzip, each would cost as much CPU
// as a hundred claims.
func TestDocsAreReadOnceForEachEncoding(t *testing.T) {
	t.Parallel()
	d := &docs{text: strings.Repeat("a large file of /docs ", 100_000)}
	addr, kill := startInstance(t, d.serve)
	n := startNginx(t, addr)
	for i, encoding := range []string{"identity", "gzip", "br", "", "gzip;q=0", "gzip; q=0.0, br", "*", "x-gzipped",
		"gzip, deflate, br", "br;q=1.0, GZIP;q=0.8", "gzip;q=0.01"} {
		resp := getDocs(t, n, i, encoding)
		want := slices.Contains([]int{1, 8, 9, 10}, i)
		if got := resp.Header.Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("%q: compressed: %v", encoding, got)
		}
		if got := read(t, resp); got != d.text {
			t.Errorf("%q: %d bytes, want %d", encoding, len(got), len(d.text))
		}
	}
	kill()
	for i := range 20 {
		getDocs(t, n, i, "identity") // and never reads it
	}
	if plain, compressed := d.plain.Load(), d.compressed.Load(); plain != 1 || compressed != 1 {
		t.Errorf("the instance served the file %d times plain and %d times compressed, want once each", plain, compressed)
	}
}

// If the kernel took the whole response, its memory would grow with every such
// client, and nginx would take the request for completed.
func TestClientsThatDoNotReadAreLimited(t *testing.T) {
	t.Parallel()
	n := serve(t, (&docs{text: strings.Repeat("x", 1<<20)}).serve, limited()...)
	for i := range 50 {
		getDocs(t, n, i, "identity")
	}
	if resp := getDocs(t, n, 50, "identity"); resp.StatusCode != 429 {
		t.Errorf("a client has 50 downloads that it does not read, and gets %s for another", resp.Status)
	}
}

func TestNginxLimitsDownloadsOfAnAddress(t *testing.T) {
	t.Parallel()
	n := serve(t, (&docs{text: "a file"}).serve, limited()...)
	replies, err := client{n, "192.0.2.1", "/docs/init.js"}.pipeline(150)
	if err != nil || replies[200] < 100 || replies[429] == 0 {
		t.Errorf("%v, %v; want 200 for the first 100, and some 429", replies, err)
	}
	if resp, _ := (client{n, "192.0.2.1", "/orders"}).get(t); resp.StatusCode != 200 {
		t.Errorf("another path: %s", resp.Status)
	}
}

// read returns the text of a response that may be compressed.
func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			b, err = io.ReadAll(z)
		}
	}
	check.NoError(t, err)
	return string(b)
}

// Only what the service allows to be stored may be stored, and only of /docs.
func TestNginxStoresNothingElse(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	n := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path != "/docs/" {
			w.Header().Set("Cache-Control", "public, max-age=3600")
		}
	})
	for _, path := range []string{"/orders", "/orders", "/docs/", "/docs/"} {
		if resp, _ := (client{n, "", path}).get(t); resp.StatusCode != 200 {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	if got := requests.Load(); got != 4 {
		t.Errorf("the instance served %d of 4 requests", got)
	}
}
