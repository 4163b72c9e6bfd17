package lab_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// makeCertificate writes a self-signed certificate of 127.0.0.1 and its key to
// dir, as tls.crt and tls.key. It returns a pool that trusts the certificate.
func makeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	check.NoError(t, err)
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	for name, text := range map[string][]byte{
		"tls.crt": trusted, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		check.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trusted)
	return pool
}

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
	check.NoError(t, os.Rename(filepath.Join(dir, "tls", "listen.conf"),
		filepath.Join(dir, "site", "listen.conf")))
	pool := makeCertificate(t, secrets)
	replace(t, filepath.Join(dir, "site", "listen.conf"), "/run/tls", secrets)
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
	pool := makeCertificate(t, renewed)
	for _, name := range []string{"tls.key", "tls.crt"} {
		check.NoError(t, os.Rename(filepath.Join(renewed, name), filepath.Join(secrets, name)))
	}
	n.Signal(syscall.SIGHUP)
	trusting := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(n.URL, "https://"), trusting)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a rename and SIGHUP nginx serves another certificate: %v", err)
		}
	}
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
	addr, _ := startInstance(t, func(http.ResponseWriter, *http.Request) {})
	n := startNginx(t, addr)
	for _, path := range []string{"/coupons", "/metrics"} {
		resp, _ := send(t, n, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
		if got := resp.Header.Values("Strict-Transport-Security"); got != nil {
			t.Errorf("%s: Strict-Transport-Security: %q", path, got)
		}
	}
}
