package auth

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/golang-jwt/jwt/v5"
)

// claims are the claims that the service reads.
type claims struct {
	Role string `json:"role"`
	jwt.RegisteredClaims
}

// UnmarshalJSON implements json.Unmarshaler. Other than with encoding/json, the names of members are
// exact, and duplicates and invalid UTF-8 are errors.
func (c *claims) UnmarshalJSON(text []byte) error {
	type plain claims
	return json.Unmarshal(text, (*plain)(c))
}

// maxDate is the last second of the year 9999, the last that time.Time prints.
const maxDate = 253_402_300_799

// Validate implements jwt.ClaimsValidator. The library validates the registered claims, and calls it.
func (c *claims) Validate() error {
	for _, date := range []*jwt.NumericDate{c.ExpiresAt, c.NotBefore, c.IssuedAt} {
		if date != nil && (date.Unix() < 0 || date.Unix() > maxDate) {
			return errors.New("a date is out of range")
		}
	}
	return nil
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
