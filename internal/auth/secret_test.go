package auth

import (
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// A secret is replaced without invalidating a token: first every instance knows
// the new one, then tokens are signed with it, then the old one is removed.
func TestSecretsRotate(t *testing.T) {
	t.Parallel()
	november := Secret{"2026-11", []byte("the secret of November, 32 bytes long")}
	december := Secret{"2026-12", []byte("the secret of December, 32 bytes long")}
	plain := Secret{Key: secret}
	for name, test := range map[string]struct {
		signer   Secret
		verifier []Secret
		accepted bool
	}{
		"before":                      {november, []Secret{november}, true},
		"first of two":                {november, []Secret{november, december}, true},
		"second of two":               {december, []Secret{november, december}, true},
		"removed":                     {november, []Secret{december}, false},
		"no kid":                      {plain, []Secret{november, plain}, true},
		"no kid, secrets have ids":    {plain, []Secret{november}, false},
		"kid, secret has none":        {Secret{"2026-10", secret}, []Secret{november, plain}, true},
		"kid of another secret":       {Secret{"2026-12", november.Key}, []Secret{november, december}, false},
		"kid of a removed secret":     {november, []Secret{december, plain}, false},
		"no secret":                   {plain, nil, false},
		"no secret, but an empty key": {Secret{Key: nil}, nil, false},
	} {
		token, err := Signer{Secret: test.signer}.Sign(Identity{UserID: 42}, time.Hour)
		check.NoError(t, err)
		_, err = NewVerifier(Config{Secrets: test.verifier}).Verify(token)
		if (err == nil) != test.accepted {
			t.Errorf("%s: %v, want accepted: %t", name, err, test.accepted)
		}
	}
}

func TestIssuerAndAudienceAreRequired(t *testing.T) {
	t.Parallel()
	key := Secret{Key: secret}
	for name, test := range map[string]struct {
		signer   Signer
		accepted bool
	}{
		"both":           {Signer{key, "login", "sale"}, true},
		"other issuer":   {Signer{key, "Login", "sale"}, false},
		"no issuer":      {Signer{key, "", "sale"}, false},
		"other audience": {Signer{key, "login", "shop"}, false},
		"no audience":    {Signer{key, "login", ""}, false},
	} {
		token, err := test.signer.Sign(Identity{UserID: 42}, time.Hour)
		check.NoError(t, err)
		strict := NewVerifier(Config{Secrets: []Secret{key}, Issuer: "login", Audience: "sale"})
		if _, err := strict.Verify(token); (err == nil) != test.accepted {
			t.Errorf("%s: %v, want accepted: %t", name, err, test.accepted)
		}
		if _, err := NewVerifier(Config{Secrets: []Secret{key}}).Verify(token); err != nil {
			t.Errorf("%s, nothing required: %v", name, err)
		}
	}
}
