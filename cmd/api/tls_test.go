package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// makeAuthority writes the certificate of a new authority, ca.pem, and a
// certificate of 127.0.0.1 that it has signed, with its key: cert.pem and key.pem.
func makeAuthority(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	caKey, key := newKey(t), newKey(t)
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "sale"},
		NotAfter:    time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	ca, err := x509.CreateCertificate(rand.Reader, authority, authority, &caKey.PublicKey, caKey)
	check.NoError(t, err)
	cert, err := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, caKey)
	check.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	check.NoError(t, err)
	writePEM(t, dir, "ca.pem", "CERTIFICATE", ca)
	writePEM(t, dir, "cert.pem", "CERTIFICATE", cert)
	writePEM(t, dir, "key.pem", "PRIVATE KEY", private)
	return dir
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check.NoError(t, err)
	return key
}

func writePEM(t *testing.T, dir, name, kind string, content []byte) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	check.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
}

// startTLSRedis starts a Redis that accepts the user sale only, by TLS with a
// certificate of the authority in dir. It returns its URL.
func startTLSRedis(t *testing.T, dir string) string {
	t.Helper()
	l := labtest.Lab(t)
	var port int
	r, err := lab.WithFreePort(func(p int) (*lab.Redis, error) {
		port = p
		return lab.StartRedis(l, "--tls-port", fmt.Sprint(p), "--tls-auth-clients", "yes", "--tls-ca-cert-file",
			dir+"/ca.pem",
			"--tls-cert-file", dir+"/cert.pem", "--tls-key-file", dir+"/key.pem",
			"--user", "sale", "on", ">password", "~*", "&*", "+@all")
	})
	check.NoError(t, err)
	t.Cleanup(r.Kill)
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: r.URL[len("unix://"):]})
	defer rdb.Close()
	check.NoError(t, rdb.Do(t.Context(), "ACL", "SETUSER", "default", "off").Err())
	return fmt.Sprintf("rediss://sale:password@127.0.0.1:%d/0", port)
}

// startTLSMySQL starts a server that accepts the user sale by TLS only, and returns
// the DSN of an empty database.
func startTLSMySQL(t *testing.T, dir string) string {
	t.Helper()
	m, err := lab.StartMySQLTCP(labtest.Lab(t), "--ssl-ca="+dir+"/ca.pem", "--ssl-cert="+dir+"/cert.pem",
		"--ssl-key="+dir+"/key.pem")
	check.NoError(t, err)
	t.Cleanup(m.Kill)
	root, err := m.Create(t.Context(), "sale")
	check.NoError(t, err)
	db := labtest.Open(t, root)
	for _, host := range []string{"%", "localhost"} {
		db.MustExec("CREATE USER 'sale'@'" + host + "' IDENTIFIED BY 'password' REQUIRE SSL")
		db.MustExec("GRANT ALL ON sale.* TO 'sale'@'" + host + "'")
	}
	return "sale:password@tcp(" + m.Address + ")/sale"
}

func TestServersAreReachedByTLS(t *testing.T) {
	t.Parallel()
	dir := makeAuthority(t)
	redisURL := startTLSRedis(t, dir) + "?client_cert=" + dir + "/cert.pem&client_key=" + dir + "/key.pem"
	i, err := lab.StartAPI(labtest.Lab(t), buildBinary(t), "tls", "MYSQL_DSN="+startTLSMySQL(t, dir)+"?tls=true",
		"REDIS_URL="+redisURL, "JWT_SECRET="+secret, "SSL_CERT_FILE="+dir+"/ca.pem")
	check.NoError(t, err) // it is not ready
	t.Cleanup(i.Kill)
}
