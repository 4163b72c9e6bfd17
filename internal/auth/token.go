package auth

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Sign returns a token for the identity that expires after ttl, to the second.
func Sign(secret []byte, id Identity, ttl time.Duration) (string, error) {
	now := time.Now()
	return jwt.NewWithClaims(jwt.SigningMethodHS256, &claims{id.Role.String(), jwt.RegisteredClaims{
		Subject:   strconv.FormatInt(id.UserID, 10),
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
	}}).SignedString(secret)
}

// A Verifier verifies tokens that were signed with its secret. It is safe for
// concurrent use.
type Verifier struct {
	secret    []byte
	parser    *jwt.Parser
	validator *jwt.Validator
}

// NewVerifier returns a Verifier.
func NewVerifier(secret []byte) *Verifier {
	required := jwt.WithExpirationRequired()
	return &Verifier{secret, jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), required), jwt.NewValidator(required)}
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

// parse verifies a token and stores its claims in c. The common header is
// compared as text instead of being parsed. That saves 1.9 µs of a claim's 55
// to 60 (BenchmarkVerify).
func (v *Verifier) parse(token string, c *claims) error {
	rest, common := strings.CutPrefix(token, commonHeader)
	payload, signature, complete := strings.Cut(rest, ".")
	if !common || !complete {
		return v.parseAnyHeader(token, c)
	}
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return err
	}
	if err := jwt.SigningMethodHS256.Verify(token[:len(commonHeader)+len(payload)], sig, v.secret); err != nil {
		return err
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, c); err != nil {
		return err
	}
	return v.validator.Validate(c)
}

func (v *Verifier) parseAnyHeader(token string, c *claims) error {
	_, err := v.parser.ParseWithClaims(token, c, func(*jwt.Token) (any, error) { return v.secret, nil })
	return err
}

// claims are the claims of the service's tokens.
type claims struct {
	Role string `json:"role"`
	jwt.RegisteredClaims
}

func (c *claims) identity() (Identity, error) {
	userID, err := strconv.ParseInt(c.Subject, 10, 64)
	if err != nil || userID <= 0 {
		return Identity{}, fmt.Errorf("%w: sub is not a user id", ErrInvalidToken)
	}
	id := Identity{UserID: userID}
	if c.Role == RoleAdmin.String() {
		id.Role = RoleAdmin
	}
	return id, nil
}
