package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/auth"
)

// openVerifier returns the verifier of the service's tokens. It fetches the JWKS,
// because a service without keys would refuse every user.
func openVerifier(
	cfg config, now func() time.Time, log *slog.Logger, failures prometheus.Counter, o *opened,
) (*auth.Verifier, error) {
	tokens := cfg.tokens()
	tokens.Now = now
	if cfg.JWTJWKS == "" {
		return auth.NewVerifier(tokens), nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.add(cancel)
	jwks, err := auth.OpenJWKS(ctx, cfg.JWTJWKS, func(err error) {
		failures.Inc()
		log.Warn("JWKS not fetched, the previous keys remain", "error", err.Error())
	})
	if err != nil {
		return nil, fmt.Errorf("JWT_JWKS: %w", err)
	}
	tokens.JWKS = jwks
	return auth.NewVerifier(tokens), nil
}

// tokens says which tokens the service accepts, apart from those that a JWKS
// verifies. The first secret signs the tokens of the command token.
func (c config) tokens() auth.Config {
	secrets, _ := auth.ParseSecrets(c.JWTSecrets) // checked already
	if c.JWTSecret != "" {
		secrets = append(secrets, auth.Secret{Key: []byte(c.JWTSecret)})
	}
	return auth.Config{Secrets: secrets, Issuer: c.JWTIssuer, Audience: c.JWTAudience}
}

// publicSecret is the default of docker-compose.yml, with which anybody can sign.
const publicSecret = "only-for-trying-it-out-0123456789abcdef"

// isGuessable reports whether a secret is public, or has so few different bytes that
// it is not random.
func isGuessable(key []byte) bool {
	different := map[byte]bool{}
	for _, b := range key {
		different[b] = true
	}
	return string(key) == publicSecret || len(different) < 8
}

// checkTokens returns the rules that the settings of tokens break.
func (c config) checkTokens() []settingError {
	var broken []settingError
	if c.JWTSecret == "" && len(c.JWTSecrets) == 0 && c.JWTJWKS == "" {
		broken = append(broken, settingError{"JWT_SECRET", "is not set, nor is JWT_SECRETS or JWT_JWKS"})
	}
	if err := auth.CheckSecret(c.JWTSecret); c.JWTSecret != "" && err != nil {
		broken = append(broken, settingError{"JWT_SECRET", err.Error()})
	}
	if _, err := auth.ParseSecrets(c.JWTSecrets); err != nil {
		broken = append(broken, settingError{"JWT_SECRETS", err.Error()})
	}
	if _, err := auth.ParseJWKSLocation(c.JWTJWKS); c.JWTJWKS != "" && err != nil {
		broken = append(broken, settingError{"JWT_JWKS", err.Error()})
	}
	return broken
}

// signer returns the signer of the command token, which needs no other settings
// than those of tokens.
func signer(getenv func(string) string) (auth.Signer, error) {
	cfg, broken := readConfig(getenv)
	for _, e := range broken {
		if strings.HasPrefix(e.name, "JWT_") {
			return auth.Signer{}, e
		}
	}
	tokens := cfg.tokens()
	if len(tokens.Secrets) == 0 {
		return auth.Signer{}, errors.New("JWT_SECRET: is not set, and only secrets sign tokens")
	}
	return auth.Signer{Secret: tokens.Secrets[0], Issuer: tokens.Issuer, Audience: tokens.Audience}, nil
}
