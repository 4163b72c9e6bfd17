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

// document is the head of the OpenAPI document; the operations add themselves.
func document() huma.Config {
	doc := huma.DefaultConfig("Coupon flash sale", "1.0.0")
	doc.CreateHooks = nil // no $schema member and no Link header in every answer
	doc.DocsPath, doc.SchemasPath = "", ""
	doc.Formats = map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat}
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "HS256, sub = user id; made by `api token`"},
	}
	return doc
}

// operation describes one route, written as "METHOD /path".
func operation(role auth.Role, route, summary string) huma.Operation {
	method, path, _ := strings.Cut(route, " ")
	return huma.Operation{
		OperationID:  strings.ReplaceAll(strings.ToLower(summary), " ", "-"),
		Method:       method,
		Path:         path,
		Summary:      summary,
		Tags:         []string{role.String()},
		Security:     []map[string][]string{{"token": {}}},
		MaxBodyBytes: maxBody + 1, // huma refuses the limit itself
	}
}

// jsonFormat encodes before it writes, so that an error of the encoder and a
// client that hung up are not taken for each other; the latter is nobody's
// error. Problems that never vary are encoded already.
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

// unmarshal names the member that holds a number which is whole and yet no
// integer to Go, like 1e3 or 1.0: the validation lets those pass.
func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf(msgPlainDigits, bad.Field)
	}
	return err
}

const msgPlainDigits = "expected property %s to be written in plain digits"

func encode(v any) ([]byte, error) {
	if p, ok := v.(*Problem); ok && p.encoded != nil {
		return p.encoded, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// docFiles are the parts of the page, the page itself first.
var docFiles = []string{"", "swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-standalone-preset.js", "favicon-32x32.png", "favicon-16x16.png"}

// docs is Swagger UI from the binary. The policy makes the browser itself
// refuse anything from elsewhere.
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
