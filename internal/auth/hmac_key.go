package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"

	"github.com/golang-jwt/jwt/v5"
)

// An hmacKey verifies signatures of HS256 with one key. It keeps its hashes: to set
// one up takes longer than to hash a token (BenchmarkVerify).
type hmacKey struct{ hashes sync.Pool }

func newHMACKey(key []byte) *hmacKey {
	return &hmacKey{sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

func (s *hmacKey) verify(signed, signature []byte) error {
	h := s.hashes.Get().(hash.Hash)
	defer s.hashes.Put(h)
	h.Reset()
	h.Write(signed)
	var sum [sha256.Size]byte
	if !hmac.Equal(h.Sum(sum[:0]), signature) {
		return jwt.ErrSignatureInvalid
	}
	return nil
}
