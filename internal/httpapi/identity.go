package httpapi

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/golang-jwt/jwt/v5"
)

// role is who may call an operation.
type role int

const (
	anyone role = iota // with a valid token
	admin
)

func (r role) String() string {
	if r == admin {
		return "admin"
	}
	return "user"
}

// A caller is who a verified token speaks for.
type caller struct {
	user  int64
	role  role
	until time.Time // when the token must be verified again
}

type callerKey struct{}

func callerFrom(ctx context.Context) caller { return ctx.Value(callerKey{}).(caller) }

// admit lets callers with a valid token and the role through, once the API is
// open.
func (a *API) admit(who role) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		c, problem := a.identify(ctx.Header("Authorization"))
		switch {
		case a.phase.Load() == starting:
			problem = unavailable
		case problem == nil && c.role < who:
			problem = forbidden
		}
		if problem != nil {
			_, w := humachi.Unwrap(ctx)
			problem.write(w)
			return
		}
		next(huma.WithValue(ctx, callerKey{}, c))
	}
}

func (a *API) identify(authorization string) (caller, *Problem) {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "bearer") || token == "" {
		return caller{}, unauthorized
	}
	c, err := a.tokens.verify(token)
	if err != nil {
		return caller{}, badToken
	}
	return c, nil
}

// Tokens verified lately are remembered, so that a hot caller costs a map
// look-up instead of an HMAC and two JSON documents.
const (
	rememberFor  = time.Minute
	rememberMost = 20_000
)

type tokens struct {
	secret []byte
	parser *jwt.Parser

	mu    sync.RWMutex
	known map[string]caller
}

func newTokens(secret []byte) *tokens {
	return &tokens{
		secret: secret,
		parser: jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired()),
		known:  map[string]caller{},
	}
}

func (t *tokens) verify(token string) (caller, error) {
	t.mu.RLock()
	c, ok := t.known[token]
	t.mu.RUnlock()
	if ok && time.Now().Before(c.until) {
		return c, nil
	}
	c, err := t.parse(token)
	if err != nil {
		return caller{}, err
	}
	t.remember(token, c)
	return c, nil
}

func (t *tokens) parse(token string) (caller, error) {
	var claims claims
	_, err := t.parser.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return t.secret, nil })
	if err != nil {
		return caller{}, err
	}
	user, err := strconv.ParseInt(claims.Subject, 10, 64)
	if err != nil || user <= 0 {
		return caller{}, errors.New("sub is not a user id")
	}
	c := caller{user: user, until: time.Now().Add(rememberFor)}
	if claims.Role == admin.String() {
		c.role = admin
	}
	if exp := claims.ExpiresAt.Time; exp.Before(c.until) {
		c.until = exp
	}
	return c, nil
}

// remember makes room by forgetting any other token: all that costs is to
// verify it once more.
func (t *tokens) remember(token string, c caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= rememberMost {
		for other := range t.known {
			delete(t.known, other)
			break
		}
	}
	t.known[token] = c
}

type claims struct {
	Role string `json:"role"`
	jwt.RegisteredClaims
}

// Mint makes a token that speaks for user until ttl from now.
func Mint(secret []byte, user int64, asAdmin bool, ttl time.Duration) (string, error) {
	r := anyone
	if asAdmin {
		r = admin
	}
	now := time.Now()
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		Role: r.String(),
		RegisteredClaims: jwt.RegisteredClaims{
			Subject:   strconv.FormatInt(user, 10),
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
		},
	}).SignedString(secret)
}
