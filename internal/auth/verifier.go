package auth

import (
	"encoding/base64"
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
	parser    *jwt.Parser
	validator *jwt.Validator
}

// NewVerifier returns a Verifier.
func NewVerifier(c Config) *Verifier {
	options := c.options()
	v := &Verifier{
		secrets: map[string][]byte{}, jwks: c.JWKS,
		parser: jwt.NewParser(options...), validator: jwt.NewValidator(options...),
	}
	for _, s := range c.Secrets {
		v.secrets[s.ID] = s.Key
	}
	return v
}

// leeway is how long after exp and before nbf a token is accepted, because the
// clocks of the login service and of the instances differ.
const leeway = 5 * time.Second

// options returns the library's options. An algorithm is valid only if there is
// a key of its type.
func (c Config) options() []jwt.ParserOption {
	algorithms := []string{} // nil would allow all
	if len(c.Secrets) > 0 {
		algorithms = append(algorithms, "HS256")
	}
	if c.JWKS != nil {
		algorithms = append(algorithms, "RS256", "ES256", "EdDSA")
	}
	options := []jwt.ParserOption{jwt.WithValidMethods(algorithms), jwt.WithStrictDecoding(),
		jwt.WithExpirationRequired(), jwt.WithLeeway(leeway)}
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
	var c claims
	if err := v.parse(token, &c); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrInvalidToken, err)
	}
	return c.identity()
}

// commonHeader is {"alg":"HS256","typ":"JWT"}, with which nearly every token
// begins, in base64.
const commonHeader = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."

// encoding is that of a token's parts.
var encoding = base64.RawURLEncoding.Strict()

// parse verifies a token and stores its claims in c. The common header is
// compared as text instead of being parsed (BenchmarkVerify).
func (v *Verifier) parse(token string, c *claims) error {
	rest, common := strings.CutPrefix(token, commonHeader)
	payload, signature, complete := strings.Cut(rest, ".")
	secret, known := v.secrets[""]
	if !common || !complete || !known {
		return v.parseAnyHeader(token, c)
	}
	sig, err := encoding.DecodeString(signature)
	if err != nil {
		return err
	}
	if err := jwt.SigningMethodHS256.Verify(token[:len(commonHeader)+len(payload)], sig, secret); err != nil {
		return err
	}
	text, err := encoding.DecodeString(payload)
	if err != nil {
		return err
	}
	if err := c.UnmarshalJSON(text); err != nil {
		return err
	}
	return v.validator.Validate(c)
}

func (v *Verifier) parseAnyHeader(token string, c *claims) error {
	_, err := v.parser.ParseWithClaims(token, c, v.key)
	return err
}

// key returns the key that must have signed a token whose algorithm is valid.
// Its type is that of the algorithm, or else the library refuses it.
func (v *Verifier) key(token *jwt.Token) (any, error) {
	h, err := headerOf(token.Raw)
	if err != nil {
		return nil, err
	}
	if token.Method == jwt.SigningMethodHS256 {
		return v.secret(h.KeyID)
	}
	return v.jwks.key(token, h.KeyID)
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
