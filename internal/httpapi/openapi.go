package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"

	"example.com/flashsale/internal/auth"
)

// maxBody bounds every request body.
const maxBody = 64 << 10

// document returns the configuration of the OpenAPI document, to which handle
// adds the operations.
func document() huma.Config {
	doc := huma.DefaultConfig("Coupon flash sale", "1.0.0")
	doc.CreateHooks = nil // adds neither a $schema member nor a Link header to responses
	doc.DocsPath, doc.SchemasPath = "", ""
	doc.Formats = map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat}
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "HS256, sub = user id; printed by `api token`"},
	}
	return doc
}

// operation describes one route, which is written as "METHOD /path".
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

// jsonFormat encodes before it writes, and returns errors of the encoder only.
// huma panics on every error, but a failed write only means that the client has
// disconnected.
var jsonFormat = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		b, err := encode(v)
		if err != nil {
			return err
		}
		_, _ = w.Write(b)
		return nil
	},
	Unmarshal: unmarshal,
}

// unmarshal names the member in errors about numbers like 1e3 or 1.0. They are
// whole, so the validation accepts them, but encoding/json does not decode them
// into an int.
func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf(msgPlainDigits, bad.Field)
	}
	return err
}

const msgPlainDigits = "expected property %s to be written in plain digits"

// encode returns v as JSON, with <, > and & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// docFiles lists the files under /docs/. The first is the page.
var docFiles = []string{"", "swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-standalone-preset.js", "favicon-32x32.png", "favicon-16x16.png"}

// docs serves Swagger UI from files in the binary. The Content-Security-Policy
// makes the browser refuse files from other hosts.
func docs() http.Handler {
	page := v5emb.NewHandlerWithConfig(swgui.Config{
		Title: "Coupon flash sale", SwaggerJSON: "/openapi.json", BasePath: "/docs/",
		SettingsUI: map[string]string{"persistAuthorization": "true"},
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy",
			"default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'")
		page.ServeHTTP(w, r)
	})
}
