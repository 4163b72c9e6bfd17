package rig

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"example.com/flashsale/internal/auth"
)

// All ids that UserID returns have ten digits, so that all tokens of one signer
// have the same length.
const (
	firstUserID = 1_000_000_000
	userIDs     = 1 << 30
)

// UserID returns the id of the i-th user. The ids do not rise with i, because
// users do not claim in the order in which they signed up, and the order of
// inserts matters to an index.
func UserID(i int) int64 { return firstUserID + int64(uint64(i)*2_654_435_761%userIDs) }

// A TokenSigner signs bearer tokens with the service's secret, for the issuer and the
// audience that JWT_ISSUER and JWT_AUDIENCE name: the instances inherit these. Its
// value is the secret.
type TokenSigner string

// Signer returns the signer for the stack's instances.
func (s *Stack) Signer() TokenSigner { return TokenSigner(s.Secret) }

// User returns a token of the user id.
func (s TokenSigner) User(id int64) string { return s.sign(auth.Identity{UserID: id}) }

// Admin returns a token with the admin role.
func (s TokenSigner) Admin() string { return s.sign(auth.Identity{UserID: 1, Role: auth.RoleAdmin}) }

// sign returns a token that is valid for a day.
func (s TokenSigner) sign(id auth.Identity) string {
	signer := auth.Signer{Secret: auth.Secret{Key: []byte(s)},
		Issuer: os.Getenv("JWT_ISSUER"), Audience: os.Getenv("JWT_AUDIENCE")}
	token, err := signer.Sign(id, 24*time.Hour)
	if err != nil {
		panic(err) // HMAC accepts every key of bytes
	}
	return token
}

// Headers is a file of request headers, one user after the other. The headers
// of each user have Width bytes.
type Headers struct {
	Path         string
	Count, Width int
}

// Users are the headers of a file, in memory.
type Users struct {
	all   []byte
	width int
}

// Open maps the file into memory, until Close.
func (h Headers) Open() (Users, error) {
	f, err := os.Open(h.Path)
	if err != nil {
		return Users{}, err
	}
	defer f.Close()
	all, err := syscall.Mmap(int(f.Fd()), 0, h.Count*h.Width, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return Users{}, fmt.Errorf("map %s: %w", h.Path, err)
	}
	return Users{all, h.Width}, nil
}

// Close removes the headers from memory.
func (u Users) Close() { _ = syscall.Munmap(u.all) } // fails only for another address

// Headers returns the headers of the i-th user. After the last user comes the
// first again.
func (u Users) Headers(i int) []byte {
	first := i % (len(u.all) / u.width) * u.width
	return u.all[first : first+u.width]
}

// Headers returns the headers of a user's claim: the token, and the id for
// servers that do not verify tokens.
func (s TokenSigner) Headers(user int64) string {
	return fmt.Sprintf("Authorization: Bearer %s\r\nX-User: %d\r\n", s.User(user), user)
}
