package auth

import (
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// A Signer signs tokens with HS256. Issuer and Audience may be empty.
type Signer struct {
	Secret           Secret
	Issuer, Audience string
}

// Sign returns a token for the identity that expires after ttl, to the second.
func (s Signer) Sign(id Identity, ttl time.Duration) (string, error) {
	now := time.Now()
	c := &claims{id.Role.String(), jwt.RegisteredClaims{
		Issuer: s.Issuer, Subject: strconv.FormatInt(id.UserID, 10),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
	}}
	if s.Audience != "" {
		c.Audience = jwt.ClaimStrings{s.Audience}
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, c)
	if s.Secret.ID != "" {
		token.Header["kid"] = s.Secret.ID
	}
	return token.SignedString(s.Secret.Key)
}
