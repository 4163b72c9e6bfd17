package lab_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// startTLS starts nginx with the listen.conf for TLS, and returns a client that
// trusts its certificate.
func startTLS(t *testing.T, upstream string) (*lab.Nginx, *http.Client) {
	t.Helper()
	return startTLSWith(t, upstream, t.TempDir())
}

// startTLSWith is startTLS with a certificate in the directory secrets.
func startTLSWith(t *testing.T, upstream, secrets string) (*lab.Nginx, *http.Client) {
	t.Helper()
	labtest.NeedServers(t)
	dir := copyOfConf(t)
	listen, err := os.ReadFile(filepath.Join(conf, "tls", "listen.conf"))
	check.NoError(t, err)
	check.NoError(t, os.WriteFile(filepath.Join(dir, "site", "listen.conf"),
		bytes.ReplaceAll(listen, []byte("/run/tls"), []byte(secrets)), 0o600))
	pool := labtest.Certificate(t, filepath.Join(secrets, "tls.crt"), filepath.Join(secrets, "tls.key"))
	n := labtest.Start(t, func(l *lab.Lab) (*lab.Nginx, error) { return lab.StartNginx(l, dir, upstream) })
	return n,
		&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool,
			MinVersion: tls.VersionTLS12}}}
}

func TestNginxServesTLS(t *testing.T) {
	t.Parallel()
	addr, _ := startInstance(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-Proto"))
	})
	n, c := startTLS(t, addr)
	for path, want := range map[string]int{"/coupons": 200, "/metrics": 404} {
		resp, err := c.Get(n.URL + path)
		check.NoError(t, err)
		defer resp.Body.Close()
		if body, _ := io.ReadAll(resp.Body); resp.StatusCode != want || want == 200 && string(body) != "https" {
			t.Errorf("%s: %s, the instance gets the scheme %q", path, resp.Status, body)
		}
		if got := resp.Header.Values("Strict-Transport-Security"); len(got) != 1 ||
			!strings.HasPrefix(got[0], "max-age=31536000") {
			t.Errorf("%s: Strict-Transport-Security: %q", path, got)
		}
	}
}

// As certbot does, and mv: nginx opens the files again by their names.
func TestNginxServesACertificateThatWasRenamed(t *testing.T) {
	t.Parallel()
	secrets, renewed := t.TempDir(), t.TempDir()
	n, _ := startTLSWith(t, "127.0.0.1:1", secrets)
	pool := labtest.Certificate(t, filepath.Join(renewed, "tls.crt"), filepath.Join(renewed, "tls.key"))
	for _, name := range []string{"tls.key", "tls.crt"} {
		check.NoError(t, os.Rename(filepath.Join(renewed, name), filepath.Join(secrets, name)))
	}
	n.Signal(syscall.SIGHUP)
	trusting := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	check.Eventually(t, "nginx serves the other certificate after a rename and SIGHUP", func() bool {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(n.URL, "https://"), trusting)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

func TestNginxRefusesWeakTLS(t *testing.T) {
	t.Parallel()
	n, _ := startTLS(t, "127.0.0.1:1")
	for name, c := range map[string]*tls.Config{
		"TLS 1.1": {MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
		"CBC":     {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}},
	} {
		c.InsecureSkipVerify = true // so that nothing but nginx refuses
		if conn, err := tls.Dial("tcp", strings.TrimPrefix(n.URL, "https://"), c); err == nil {
			t.Errorf("%s is accepted", name)
			_ = conn.Close()
		}
	}
}

func TestNginxRefusesPlainHTTPOnTheTLSPort(t *testing.T) {
	t.Parallel()
	n, _ := startTLS(t, "127.0.0.1:1")
	resp, body := send(t, &lab.Nginx{URL: strings.Replace(n.URL, "https", "http", 1)},
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	wantProblem(t, resp, body, 400, "bad_request")
}

func TestPlainHTTPPromisesNoTLS(t *testing.T) {
	t.Parallel()
	n := serve(t, func(http.ResponseWriter, *http.Request) {})
	for _, path := range []string{"/coupons", "/metrics"} {
		resp, _ := send(t, n, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
		if got := resp.Header.Values("Strict-Transport-Security"); got != nil {
			t.Errorf("%s: Strict-Transport-Security: %q", path, got)
		}
	}
}
