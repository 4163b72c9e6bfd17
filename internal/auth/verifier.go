package auth

import (
	"errors"
	"fmt"
	"strings"
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
	secrets   map[string][]byte
	jwks      *JWKS
	validator *jwt.Validator
}

// NewVerifier returns a Verifier.
func NewVerifier(c Config) *Verifier {
	v := &Verifier{secrets: map[string][]byte{}, jwks: c.JWKS, validator: jwt.NewValidator(c.options()...)}
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
	options := []jwt.ParserOption{jwt.WithExpirationRequired(), jwt.WithLeeway(leeway)}
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
	c, err := v.claims(token)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrInvalidToken, err)
	}
	return c.identity()
}

// claims returns what a token claims. The library's own parser would read the header and the
// payload less strictly, and take three times as long.
func (v *Verifier) claims(token string) (*claims, error) {
	end := max(0, strings.LastIndexByte(token, '.'))
	head, payload, _ := strings.Cut(token[:end], ".")
	var h header
	if err := decode(head, &h); err != nil {
		return nil, err
	}
	method, key, err := v.key(h)
	if err != nil {
		return nil, err
	}
	signature, err := encoding.DecodeString(strings.TrimPrefix(token[end:], "."))
	if err == nil {
		err = method.Verify(token[:end], signature, key)
	}
	c := new(claims)
	if err == nil {
		err = decode(payload, c)
	}
	if err == nil {
		err = v.validator.Validate(c)
	}
	return c, err
}

// key returns the method and the key that must have signed a token with the header. There is one
// method for each type of key.
func (v *Verifier) key(h header) (jwt.SigningMethod, any, error) {
	switch {
	case h.Critical != nil: // RFC 7515, section 4.1.11; the service knows no extension
		return nil, nil, fmt.Errorf("the header's extensions %s are not supported", h.Critical)
	case h.Algorithm == jwt.SigningMethodHS256.Alg():
		key, err := v.secret(h.KeyID)
		return jwt.SigningMethodHS256, key, err
	case v.jwks == nil:
		return nil, nil, errors.New("no key is for this algorithm")
	}
	key, err := v.jwks.key(h.KeyID)
	if err == nil && string(algorithmOf(key)) != h.Algorithm {
		err = errors.New("the key is for another algorithm")
	}
	return jwt.GetSigningMethod(h.Algorithm), key, err
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
