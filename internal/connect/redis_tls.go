package connect

import (
	"crypto/tls"
	"errors"
	"fmt"
	neturl "net/url"
)

// A clientCertificate names the files of a certificate and its key, or none.
type clientCertificate struct{ cert, key string }

// cutClientCertificate returns url without the parameters client_cert and
// client_key, which go-redis does not know.
func cutClientCertificate(url string) (string, clientCertificate, error) {
	u, err := neturl.Parse(url)
	if err != nil || u.Fragment != "" { // what follows a # in the password is no part of the address
		return "", clientCertificate{}, errRedisURL
	}
	query := u.Query()
	c := clientCertificate{query.Get("client_cert"), query.Get("client_key")}
	if c == (clientCertificate{}) {
		return url, c, nil
	}
	query.Del("client_cert")
	query.Del("client_key")
	u.RawQuery = query.Encode()
	return u.String(), c, nil
}

// add makes connections with config send the certificate. Each reads the files
// again, so that a renewed certificate needs no restart.
func (c clientCertificate) add(config *tls.Config) error {
	if c == (clientCertificate{}) {
		return nil
	}
	if config == nil {
		return errors.New("client_cert and client_key need the scheme rediss")
	}
	load := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return nil, fmt.Errorf("client certificate for Redis: %w", err)
		}
		return &pair, nil
	}
	config.GetClientCertificate = load
	_, err := load(nil)
	return err
}
