package httpapi

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"example.com/flashsale/internal/coupon"
)

// A Repeatable holds the header that makes a change safe to repeat, as
// draft-ietf-httpapi-idempotency-key-header defines it. Every operation that would
// change something once more has one.
type Repeatable struct {
	Key idempotencyKey `header:"Idempotency-Key"`
}

// An idempotencyKey is a string of RFC 8941, or the same without quotes, as most
// clients send it.
type idempotencyKey string

const (
	keyHeader  = "Idempotency-Key"
	keyPattern = `^("([ !#-\[\]-~]|\\["\\]){1,255}"|[!#-+\--~]{1,255})$`
)

const keyDescription = "Makes the change safe to repeat: choose a new key for it, such as a UUID, and send it " +
	"again with each repetition. Of all requests of an administrator with this key one at most makes the change; " +
	"the others get its response. A key that was sent with another request is refused (`idempotency_key_reused`), " +
	"and so is one whose first request is in progress (`idempotency_key_in_progress`). An error uses up no key. " +
	"Keys are kept for at least seven days: a later request may make the change once more. 1 to 255 visible " +
	"characters of ASCII, with or without quotes; spaces and commas only within quotes."

// Schema implements huma.SchemaProvider.
func (idempotencyKey) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: keyPattern, Description: keyDescription,
		PatternDescription: "1 to 255 visible ASCII characters, in quotes if they include spaces or commas",
		Examples:           []any{"8e03978e-40d5-43dd-bc93-6894a57f9324"}}
}

// Resolve implements huma.Resolver. huma takes an empty header for an absent one, and
// reads the first of several.
func (r *Repeatable) Resolve(ctx huma.Context) []error {
	request, _ := humachi.Unwrap(ctx)
	values := request.Header.Values(keyHeader)
	if len(values) > 1 || len(values) == 1 && values[0] == "" {
		return []error{&huma.ErrorDetail{Location: "header." + keyHeader, Message: "expected one value"}}
	}
	return nil
}

// text returns the key without quotes.
func (k idempotencyKey) text() string {
	if !strings.HasPrefix(string(k), `"`) {
		return string(k)
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(string(k[1 : len(k)-1]))
}

// once returns the store for the change that a request wants.
func (a *API) once(r Repeatable) *coupon.Store { return a.cfg.Coupons.Once(r.Key.text()) }

// changes is once for a coupon that may be cached: this instance sees the change at once.
func (a *API) changes(r Repeatable) *coupon.Store { return a.once(r).Telling(a.cfg.Cache.Put) }
