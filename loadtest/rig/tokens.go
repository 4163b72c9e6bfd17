package rig

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// firstUser and users span the ids that User gives: all have ten digits, so
// that all tokens of one minting are equally long.
const (
	firstUser = 1_000_000_000
	users     = 1 << 30
)

// User is the i-th user. Ids do not rise with i: a crowd does not come in the
// order in which it signed up, and an index feels the difference.
func User(i int) int64 { return firstUser + int64(uint64(i)*2_654_435_761%users) }

// A Mint makes HS256 bearer tokens of users, a microsecond each: no JSON is
// encoded twice.
type Mint struct {
	secret []byte
	until  int64
}

// Mint makes tokens that are good for a day.
func (s *Stack) Mint() Mint { return Mint{s.Secret, time.Now().Add(24 * time.Hour).Unix()} }

// Token speaks for user.
func (m Mint) Token(user int64) string { return m.sign(user, "user") }

// Admin speaks for an administrator.
func (m Mint) Admin() string { return m.sign(1, "admin") }

func (m Mint) sign(user int64, role string) string {
	const header = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" // {"alg":"HS256","typ":"JWT"}
	b64 := base64.RawURLEncoding
	token := b64.AppendEncode([]byte(header+"."), fmt.Appendf(nil, `{"sub":"%d","role":"%s","exp":%d}`, user, role, m.until))
	mac := hmac.New(sha256.New, m.secret)
	mac.Write(token)
	return string(b64.AppendEncode(append(token, '.'), mac.Sum(nil)))
}

// Headers is a file of request headers, one user after the other, each of
// Width bytes.
type Headers struct {
	Path         string
	Count, Width int
}

// Headers writes those of User(0) to User(n-1) into a file in the lab.
func (s *Stack) Headers(n int) (Headers, error) {
	dir, err := s.Dir("tokens")
	if err != nil {
		return Headers{}, err
	}
	h := Headers{Path: filepath.Join(dir, "headers"), Count: n}
	f, err := os.Create(h.Path)
	if err != nil {
		return h, err
	}
	defer f.Close()
	w, mint := bufio.NewWriterSize(f, 1<<20), s.Mint()
	for i := range n {
		h.Width, err = w.WriteString(mint.Header(User(i)))
		if err != nil {
			return h, err
		}
	}
	return h, w.Flush()
}

// Header is what a claim of user has beside its request line: the token, and
// for servers that do not look at tokens, the id itself.
func (m Mint) Header(user int64) string {
	return fmt.Sprintf("Authorization: Bearer %s\r\nX-User: %d\r\n", m.Token(user), user)
}
