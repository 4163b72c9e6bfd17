package httpapi

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"example.com/flashsale/internal/auth"
)

const description = "Every error is a problem document (RFC 9457) with a stable `code`. " +
	"Beside the responses of the operations there are two: 404 `route_not_found` for any other path, and 405 `method_not_allowed`, " +
	"with the header `Allow`, for any other method of a path. HEAD is answered wherever GET is."

// document returns the configuration of the OpenAPI document, to which handle
// adds the operations.
func document() huma.Config {
	doc := huma.DefaultConfig("Coupon flash sale", "1.0.0")
	doc.Info.Description = description
	doc.CreateHooks = nil // adds neither a $schema member nor a Link header to responses
	doc.DocsPath, doc.SchemasPath = "", ""
	doc.Formats = map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat}
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "HS256, sub = user id; printed by `api token`"},
	}
	return doc
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
