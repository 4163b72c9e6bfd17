package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"example.com/flashsale/internal/auth"
)

const description = "Every error is a problem document (RFC 9457) with a stable `code`. " +
	"Beside the responses of the operations there are two: 404 `route_not_found` for any other path, and 405 `method_not_allowed`, " +
	"with the header `Allow`, for any other method of a path. HEAD is answered wherever GET is."

const tokenDescription = "`sub` is the user's id. HS256 with a secret that the service shares, as `api token` prints it; " +
	"or RS256, ES256 or EdDSA with a key of the JWKS that the service is configured with."

// document returns the configuration of the OpenAPI document, to which handle
// adds the operations.
func document() huma.Config {
	doc := huma.DefaultConfig("Coupon flash sale", "1.0.0")
	doc.Info.Description = description
	// adds neither a $schema member nor a Link header to responses
	doc.CreateHooks = nil
	doc.OpenAPIPath, doc.DocsPath, doc.SchemasPath = "", "", "" // routeDocument and routeDocs serve them
	doc.Formats = map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat}
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: tokenDescription},
	}
	return doc
}

// routeDocument serves the document that describes the operations. huma's own handler of
// this path bypasses r's limit, and encodes without a lock.
func routeDocument(r chi.Router, doc *huma.OpenAPI) {
	encode := sync.OnceValues(doc.MarshalJSON)
	r.Get("/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		b, err := encode()
		if err != nil {
			internal.write(w)
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(b)
	})
}

// operation describes one route, which is written as "METHOD /path", without its
// responses.
func operation(role auth.Role, route, summary string) huma.Operation {
	method, path, _ := strings.Cut(route, " ")
	return huma.Operation{
		OperationID:  strings.ReplaceAll(strings.ToLower(summary), " ", "-"),
		Method:       method,
		Path:         path,
		Summary:      summary,
		Tags:         []string{role.String()},
		Security:     []map[string][]string{{"token": {}}},
		MaxBodyBytes: maxBody + 1, // huma refuses a body of exactly MaxBodyBytes
	}
}

// encode returns v as JSON, with <, > and & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
