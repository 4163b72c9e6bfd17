package labtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// Certificate writes a certificate of 127.0.0.1, which is its own authority, and its key to
// files. It returns a pool that trusts the certificate.
func Certificate(tb testing.TB, certFile, keyFile string) *x509.CertPool {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check.NoError(tb, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check.NoError(tb, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	check.NoError(tb, err)
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	check.NoError(tb, os.WriteFile(certFile, trusted, 0o600))
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	check.NoError(tb, os.WriteFile(keyFile, secret, 0o600))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trusted)
	return pool
}
