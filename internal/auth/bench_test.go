package auth

import (
	"testing"
	"time"

	"example.com/flashsale/internal/auth/authtest"
)

// BenchmarkVerify compares parse, which compares the common header as text, with
// the parser of the library.
func BenchmarkVerify(b *testing.B) {
	token, err := Sign(secret, Identity{UserID: 1_234_567_890}, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	v := NewVerifier(Config{Secrets: []Secret{{Key: secret}}})
	for name, parse := range map[string]func(string, *claims) error{"shortcut": v.parse, "library": v.parseAnyHeader} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var c claims
				if err := parse(token, &c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVerifyPublicKey(b *testing.B) {
	p := authtest.NewProvider(b)
	for _, algorithm := range algorithms {
		p.Add(b, algorithm, algorithm)
	}
	v := openJWKS(b, p.URL)
	for _, algorithm := range algorithms {
		token := p.Sign(b, algorithm, user42())
		b.Run(algorithm, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
