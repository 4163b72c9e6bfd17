package httpapi

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"example.com/flashsale/internal/auth"
)

type identityKey struct{}

// identityFrom returns the identity that authorize has stored.
func identityFrom(ctx context.Context) auth.Identity {
	return ctx.Value(identityKey{}).(auth.Identity)
}

// authorize returns a middleware that passes on requests with a valid token of
// the role, once the API is open, and stores their identity in the context.
func (a *API) authorize(role auth.Role) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humachi.Unwrap(ctx)
		if !a.opened.Load() {
			unavailable.write(w)
			return
		}
		id, ok := a.admit(w, r)
		switch {
		case !ok:
		case id.Role < role:
			forbidden.write(w)
		default:
			next(huma.WithValue(ctx, identityKey{}, id))
		}
	}
}
