package main

import (
	"errors"

	"example.com/flashsale/internal/auth"
)

// tokens says which tokens the service accepts. The first secret signs those of
// the command token.
func (c config) tokens() auth.Config {
	secrets, _ := auth.ParseSecrets(c.JWTSecrets) // checked already
	if c.JWTSecret != "" {
		secrets = append(secrets, auth.Secret{Key: []byte(c.JWTSecret)})
	}
	return auth.Config{Secrets: secrets, Issuer: c.JWTIssuer, Audience: c.JWTAudience}
}

// checkTokens returns the rules that the settings of tokens break.
func (c config) checkTokens() []settingError {
	var broken []settingError
	if c.JWTSecret == "" && len(c.JWTSecrets) == 0 {
		broken = append(broken, settingError{"JWT_SECRET", "is not set, and neither is JWT_SECRETS"})
	}
	if err := auth.CheckSecret(c.JWTSecret); c.JWTSecret != "" && err != nil {
		broken = append(broken, settingError{"JWT_SECRET", err.Error()})
	}
	if _, err := auth.ParseSecrets(c.JWTSecrets); err != nil {
		broken = append(broken, settingError{"JWT_SECRETS", err.Error()})
	}
	return broken
}

// signer returns the signer of the command token, which needs no other settings
// than those of tokens.
func signer(getenv func(string) string) (auth.Signer, error) {
	cfg, _ := configFrom(getenv)
	for _, broken := range cfg.checkTokens() {
		return auth.Signer{}, broken
	}
	tokens := cfg.tokens()
	if len(tokens.Secrets) == 0 {
		return auth.Signer{}, errors.New("JWT_SECRET: is not set, and only secrets sign tokens")
	}
	return auth.Signer{Secret: tokens.Secrets[0], Issuer: tokens.Issuer, Audience: tokens.Audience}, nil
}
