package auth

import (
	"testing"

	"example.com/flashsale/internal/auth/authtest"
)

func BenchmarkVerify(b *testing.B) {
	p := authtest.NewProvider(b)
	for _, algorithm := range algorithms {
		p.Add(b, algorithm, algorithm)
	}
	v := openJWKS(b, p.URL)
	tokens := map[string]string{"HS256": sign(b, Identity{UserID: 1_234_567_890})}
	for _, algorithm := range algorithms {
		tokens[algorithm] = p.Sign(b, algorithm, user42())
	}
	for algorithm, token := range tokens {
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
