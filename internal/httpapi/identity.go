package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/observe/tracing"
)

type identityKey struct{}

// identityFrom returns the identity that authorize has stored.
func identityFrom(ctx context.Context) auth.Identity {
	return ctx.Value(identityKey{}).(auth.Identity)
}

// authorize returns a middleware that passes on requests with a valid token of
// the role, and stores their identity in the context.
func (a *API) authorize(role auth.Role) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humachi.Unwrap(ctx)
		id, ok := a.authenticate(w, r)
		switch {
		case !ok:
		case id.Role < role:
			forbidden.write(w)
		default:
			next(huma.WithValue(ctx, identityKey{}, id))
		}
	}
}

// authenticate returns the identity that r's token states. If r has no valid
// token, or its user has exceeded the limit, authenticate replies to r and
// returns false.
func (a *API) authenticate(w http.ResponseWriter, r *http.Request) (auth.Identity, bool) {
	_, span := a.tracer.Start(r.Context(), "identity")
	id, err := a.cfg.Verifier.Authenticate(r.Header.Get("Authorization"))
	tracing.End(span, err)
	if errors.Is(err, auth.ErrInvalidToken) {
		a.invalid.Do(func() { a.cfg.Log.InfoContext(r.Context(), "token refused", "error", err.Error()) })
	}
	switch {
	case err != nil:
		a.limitAddress(problemOf(err)).ServeHTTP(w, r)
	case !a.cfg.Users.Allow(id.UserID):
		a.refuseUser(w, r)
	default:
		return id, true
	}
	return auth.Identity{}, false
}
