package auth

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"
)

// claims are the claims that the service reads. Dates are seconds since 1970.
type claims struct {
	Role      string           `json:"role"`
	Issuer    string           `json:"iss,omitempty"`
	Subject   string           `json:"sub"`
	Audience  jwt.ClaimStrings `json:"aud,omitempty"`
	ExpiresAt *float64         `json:"exp,omitempty"`
	NotBefore *float64         `json:"nbf,omitempty"`
	IssuedAt  *float64         `json:"iat,omitempty"`
}

// GetExpirationTime implements jwt.Claims.
func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return date("exp", c.ExpiresAt) }

// GetNotBefore implements jwt.Claims.
func (c *claims) GetNotBefore() (*jwt.NumericDate, error) { return date("nbf", c.NotBefore) }

// GetIssuedAt implements jwt.Claims.
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error) { return date("iat", c.IssuedAt) }

// GetIssuer implements jwt.Claims.
func (c *claims) GetIssuer() (string, error) { return c.Issuer, nil }

// GetSubject implements jwt.Claims.
func (c *claims) GetSubject() (string, error) { return c.Subject, nil }

// GetAudience implements jwt.Claims.
func (c *claims) GetAudience() (jwt.ClaimStrings, error) { return c.Audience, nil }

// Validate implements jwt.ClaimsValidator. The library validates the other
// claims, and calls it.
func (c *claims) Validate() error {
	_, err := c.GetIssuedAt()
	return err
}

// maxDate is the last second of the year 9999, the last that time.Time prints.
const maxDate = 253_402_300_799

// date returns a date without its fraction of a second, or nil if the claim is
// absent. The library's own type wraps dates around that exceed an int64.
func date(name string, seconds *float64) (*jwt.NumericDate, error) {
	if seconds == nil {
		return nil, nil
	}
	if *seconds < 0 || *seconds > maxDate {
		return nil, fmt.Errorf("%s is out of range", name)
	}
	return jwt.NewNumericDate(time.Unix(int64(*seconds), 0)), nil
}

// identity returns what the claims state. A user id has one spelling only: no
// sign, no leading zero, no blanks.
func (c *claims) identity() (Identity, error) {
	userID, err := strconv.ParseInt(c.Subject, 10, 64)
	if err != nil || userID <= 0 || c.Subject[0] < '1' {
		return Identity{}, fmt.Errorf("%w: sub is not a user id", ErrInvalidToken)
	}
	id := Identity{UserID: userID}
	for _, role := range []Role{RoleClerk, RoleAdmin} {
		if c.Role == role.String() {
			id.Role = role
		}
	}
	return id, nil
}

// header holds the header's parameters that the service reads.
type header struct {
	Algorithm string         `json:"alg"`
	KeyID     string         `json:"kid"`
	Critical  jsontext.Value `json:"crit"`
}

var encoding = base64.RawURLEncoding.Strict()

// decode decodes a part of a token. Other than with encoding/json, the names of members are exact,
// and duplicates and invalid UTF-8 are errors.
func decode(part string, v any) error {
	text, err := encoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
