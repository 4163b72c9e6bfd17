package connect_test

import (
	"testing"

	"example.com/flashsale/internal/connect"
)

// cmd/api tests a certificate that is sent.
func TestClientCertificateThatCannotBeSentIsRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"redis://h:6379?client_cert=c&client_key=k", // not by TLS
		"rediss://h:6379?client_cert=/missing&client_key=/missing",
		"rediss+sentinel://h:6379?master_name=m&client_cert=/missing&client_key=/missing",
		"rediss+cluster://h:6379?client_key=/missing",
	} {
		if _, err := connect.Redis(url, 1); err == nil {
			t.Errorf("%s is accepted", url)
		}
	}
}
