// Package auth verifies the service's bearer tokens, and signs some. They are
// JSON Web Tokens (RFC 7519): sub is the user's id, role is "user", "clerk" or "admin",
// and exp is required. They are signed with a secret (HS256), or verified with
// the public keys of an identity provider (RS256, ES256, EdDSA).
package auth

import (
	"errors"
	"strings"
)

var (
	// ErrNoToken reports a request without a bearer token.
	ErrNoToken = errors.New("auth: no bearer token")
	// ErrInvalidToken reports a token that is malformed, expired, not valid
	// yet, or not signed with a known key.
	ErrInvalidToken = errors.New("auth: invalid token")
)

// A Role says which operations a user may call. A greater role includes the
// lesser ones.
type Role int

// The roles.
const (
	RoleUser  Role = iota
	RoleClerk      // uses orders
	RoleAdmin
)

// String returns the role as tokens spell it.
func (r Role) String() string {
	return []string{"user", "clerk", "admin"}[r]
}

// An Identity is what a token states: a user and the user's role.
type Identity struct {
	UserID int64
	Role   Role
}

// Authenticate returns the identity that an Authorization header states. It
// returns ErrNoToken if the header holds no bearer token, and an error that
// wraps ErrInvalidToken if the token does not verify.
func (v *Verifier) Authenticate(header string) (Identity, error) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimLeft(token, " ") // RFC 9110 allows several
	if !strings.EqualFold(scheme, "bearer") || token == "" {
		return Identity{}, ErrNoToken
	}
	return v.Verify(token)
}
