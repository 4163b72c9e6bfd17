package auth

import (
	"errors"
	"fmt"
	"strings"
)

// MinSecret is the shortest secret, in bytes, that a service may use: the
// length of HS256's hash, as RFC 7518 requires.
const MinSecret = 32

// A Secret is a key of HS256. Its ID is the kid of the tokens that are signed
// with it; tokens without a kid are signed with the secret without an ID.
type Secret struct {
	ID  string
	Key []byte
}

// CheckSecret returns an error if the secret is shorter than MinSecret, not
// counting blanks at its ends. The error does not quote the secret.
func CheckSecret(secret string) error {
	if len(strings.TrimSpace(secret)) < MinSecret {
		return fmt.Errorf("must have at least %d bytes, not counting blanks at its ends", MinSecret)
	}
	return nil
}

// ParseSecrets returns the secrets of a list of kid=secret. Its errors do not
// quote secrets.
func ParseSecrets(list []string) ([]Secret, error) {
	var secrets []Secret
	seen := map[string]bool{}
	for _, item := range list {
		id, key, found := strings.Cut(item, "=")
		switch err := CheckSecret(key); {
		case !found || id == "" || id != strings.TrimSpace(id):
			return nil, errors.New("must be kid=secret, several separated by commas")
		case seen[id]:
			return nil, fmt.Errorf("has the kid %s twice", id)
		case err != nil:
			return nil, fmt.Errorf("the secret %s %w", id, err)
		}
		seen[id] = true
		secrets = append(secrets, Secret{id, []byte(key)})
	}
	return secrets, nil
}
