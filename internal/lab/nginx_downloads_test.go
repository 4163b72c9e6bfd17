package lab_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A client that does not read must not make nginx store the response.
func TestSlowReadersDoNotFillTheDisk(t *testing.T) {
	t.Parallel()
	written := make(chan struct{})
	addr, _ := startInstance(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 16<<20))
		close(written)
	})
	n := startNginx(t, addr)
	resp, err := http.Get(n.URL + "/orders")
	if err != nil {
		t.Fatal(err)
	}
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

func TestDocsAreReadOnceFromTheInstance(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a large file of /docs ", 100_000)
	var requests atomic.Int64
	addr, kill := startInstance(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Cache-Control", "public, max-age=3600")
		w.Header().Set("Vary", "Accept-Encoding")
		w.Header().Set("Content-Encoding", r.Header.Get("Accept-Encoding"))
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
	})
	n := startNginx(t, addr)
	get := func(i int, encoding string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			fmt.Sprintf("%s/docs/bundle.js?%d", n.URL, i), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", encoding)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	for i, encoding := range []string{"identity", "gzip", "br", "gzip, deflate, br"} {
		resp := get(i, encoding)
		if compressed := resp.Header.Get("Content-Encoding") == "gzip"; compressed != strings.Contains(encoding,
			"gzip") {
			t.Errorf("%s: compressed: %v", encoding, compressed)
		}
		if got := read(t, resp); got != text {
			t.Errorf("%s: %d bytes, want %d", encoding, len(got), len(text))
		}
	}
	kill()
	for i := range 20 {
		get(i, "identity") // and never reads it
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("the instance served the file %d times, want once", n)
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
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Only what the service allows to be stored may be stored, and only of /docs.
func TestNginxStoresNothingElse(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	addr, _ := startInstance(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path != "/docs/" {
			w.Header().Set("Cache-Control", "public, max-age=3600")
		}
	})
	n := startNginx(t, addr)
	for _, path := range []string{"/orders", "/orders", "/docs/", "/docs/"} {
		if resp, _ := (client{n, "", path}).get(t); resp.StatusCode != 200 {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	if got := requests.Load(); got != 4 {
		t.Errorf("the instance served %d of 4 requests", got)
	}
}
