package httpapi

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
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
	user int64
	role role
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
