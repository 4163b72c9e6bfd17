package auth

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Config says which tokens a Verifier accepts.
type Config struct {
	// Secrets verify tokens with the algorithm HS256: the secret whose ID is the
	// token's kid, or else the one without an ID.
	Secrets []Secret
	// JWKS verifies tokens with the algorithms RS256, ES256 and EdDSA, unless it
	// is nil.
	JWKS *JWKS
	// Issuer and Audience, unless they are empty, are required of tokens: iss is
	// the issuer, and aud contains the audience.
	Issuer, Audience string
	// Now is the clock of exp and nbf; nil means the instance's own.
	Now func() time.Time
}

// A Verifier verifies tokens. It is safe for concurrent use.
type Verifier struct {
	secrets map[string][]byte
	jwks    *JWKS
	parser  *jwt.Parser
}

// NewVerifier returns a Verifier.
func NewVerifier(c Config) *Verifier {
	v := &Verifier{secrets: map[string][]byte{}, jwks: c.JWKS, parser: jwt.NewParser(c.options()...)}
	for _, s := range c.Secrets {
		v.secrets[s.ID] = s.Key
	}
	return v
}

// leeway is how long after exp and before nbf a token is accepted, because the
// clocks of the login service and of the instances differ.
const leeway = 5 * time.Second

// options returns the library's options.
func (c Config) options() []jwt.ParserOption {
	options := []jwt.ParserOption{jwt.WithStrictDecoding(), jwt.WithExpirationRequired(), jwt.WithLeeway(leeway)}
	if c.Now != nil {
		options = append(options, jwt.WithTimeFunc(c.Now))
	}
	if c.Issuer != "" {
		options = append(options, jwt.WithIssuer(c.Issuer))
	}
	if c.Audience != "" {
		options = append(options, jwt.WithAudience(c.Audience))
	}
	return options
}

// Verify returns the identity that a token states, or an error that wraps
// ErrInvalidToken.
func (v *Verifier) Verify(token string) (Identity, error) {
	c := new(claims)
	if _, err := v.parser.ParseWithClaims(token, c, v.key); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrInvalidToken, err)
	}
	return c.identity()
}

// key returns the key that must have signed a token. There is one algorithm for each type of key.
func (v *Verifier) key(t *jwt.Token) (any, error) {
	id, _ := t.Header["kid"].(string)
	if critical, found := t.Header["crit"]; found { // RFC 7515, section 4.1.11; the service knows no extension
		return nil, fmt.Errorf("the header's extensions %v are not supported", critical)
	}
	if t.Method == jwt.SigningMethodHS256 {
		return v.secret(id)
	}
	if v.jwks == nil {
		return nil, errors.New("no key is for this algorithm")
	}
	return v.jwks.key(keyName{id, t.Method.Alg()})
}

func (v *Verifier) secret(id string) ([]byte, error) {
	if secret, found := v.secrets[id]; found {
		return secret, nil
	}
	if secret, found := v.secrets[""]; found {
		return secret, nil
	}
	return nil, errors.New("no secret has this kid")
}
