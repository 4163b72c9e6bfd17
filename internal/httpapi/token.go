package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// tokens verifies JSON Web Tokens signed by HS256.
type tokens struct {
	secret    []byte
	parser    *jwt.Parser
	validator *jwt.Validator
}

func newTokens(secret []byte) *tokens {
	required := jwt.WithExpirationRequired()
	return &tokens{secret, jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), required), jwt.NewValidator(required)}
}

// verify returns whom a token speaks for that is valid now.
func (t *tokens) verify(token string) (caller, error) {
	var said claims
	if err := t.read(token, &said); err != nil {
		return caller{}, err
	}
	user, err := strconv.ParseInt(said.Subject, 10, 64)
	if err != nil || user <= 0 {
		return caller{}, errors.New("sub is not a user id")
	}
	c := caller{user: user}
	if said.Role == admin.String() {
		c.role = admin
	}
	return c, nil
}

// plainHeader is what nearly every token begins with, {"alg":"HS256","typ":"JWT"}.
const plainHeader = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."

// read is the parser's work, by the parser's parts; but a header that is known
// by its text is not taken apart, which would be half of the whole.
func (t *tokens) read(token string, said *claims) error {
	rest, plain := strings.CutPrefix(token, plainHeader)
	payload, signature, whole := strings.Cut(rest, ".")
	if !plain || !whole {
		_, err := t.parser.ParseWithClaims(token, said, func(*jwt.Token) (any, error) { return t.secret, nil })
		return err
	}
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return err
	}
	if err := jwt.SigningMethodHS256.Verify(token[:len(plainHeader)+len(payload)], sig, t.secret); err != nil {
		return err
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, said); err != nil {
		return err
	}
	return t.validator.Validate(said)
}

// claims are what a token says, as far as anybody here wants to know. Times are
// seconds since 1970; zero is none.
type claims struct {
	Role      string  `json:"role"`
	Subject   string  `json:"sub"`
	IssuedAt  float64 `json:"iat,omitempty"`
	NotBefore float64 `json:"nbf,omitempty"`
	Expires   float64 `json:"exp"`
}

// The methods of jwt.Claims, for its validator.

func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return date(c.Expires), nil }
func (c *claims) GetNotBefore() (*jwt.NumericDate, error)      { return date(c.NotBefore), nil }
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error)       { return date(c.IssuedAt), nil }
func (c *claims) GetSubject() (string, error)                  { return c.Subject, nil }
func (c *claims) GetIssuer() (string, error)                   { return "", nil }
func (c *claims) GetAudience() (jwt.ClaimStrings, error)       { return nil, nil }

func date(seconds float64) *jwt.NumericDate {
	if seconds == 0 {
		return nil
	}
	return jwt.NewNumericDate(time.UnixMilli(int64(seconds * 1000)))
}

// Mint makes a token that speaks for user until ttl from now, to the second.
func Mint(secret []byte, user int64, asAdmin bool, ttl time.Duration) (string, error) {
	r := anyone
	if asAdmin {
		r = admin
	}
	now := time.Now()
	return jwt.NewWithClaims(jwt.SigningMethodHS256, &claims{
		Role:     r.String(),
		Subject:  strconv.FormatInt(user, 10),
		IssuedAt: float64(now.Unix()),
		Expires:  float64(now.Add(ttl).Unix()),
	}).SignedString(secret)
}
