package httpapi

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
)

// docFiles lists the files under /docs/. The first is the page.
var docFiles = []string{"", "swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-standalone-preset.js", "favicon-32x32.png", "favicon-16x16.png"}

// routeDocs serves Swagger UI from files in the binary.
func routeDocs(r chi.Router) {
	r.Method("GET", "/docs", http.RedirectHandler("/docs/", http.StatusMovedPermanently))
	page := docs()
	for _, file := range docFiles {
		r.Method("GET", "/docs/"+file, page)
	}
}

// docsPolicy makes the browser refuse files from other hosts, and frames.
const docsPolicy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func docs() http.Handler {
	page := v5emb.NewHandlerWithConfig(swgui.Config{
		Title: "Coupon flash sale", SwaggerJSON: "/openapi.json", BasePath: "/docs/",
		SettingsUI: map[string]string{"persistAuthorization": "true"},
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", docsPolicy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "public, max-age=3600")
		page.ServeHTTP(w, r)
	})
}
