package httpapi

import (
	"embed"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
)

// The page is not that of swgui, whose scripts are inline: a policy that allows
// them allows injected scripts too.
//
//go:embed docs/index.html docs/init.js docs/dark.css
var docsFiles embed.FS

// swaggerFiles lists the files of Swagger UI that the page loads.
var swaggerFiles = []string{"swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-standalone-preset.js",
	"favicon-32x32.png", "favicon-16x16.png"}

// routeDocs serves Swagger UI from files in the binary. Whoever opens the service's
// address in a browser comes to it.
func routeDocs(r chi.Router) {
	r.Method("GET", "/", http.RedirectHandler("/docs/", http.StatusTemporaryRedirect))
	r.Method("GET", "/docs", http.RedirectHandler("/docs/", http.StatusMovedPermanently))
	r = r.With(docsHeaders)
	own := http.FileServerFS(docsFiles)
	r.Method("GET", "/docs/", own) // index.html
	r.Method("GET", "/docs/init.js", own)
	r.Method("GET", "/docs/dark.css", own)
	swagger := v5emb.NewHandlerWithConfig(swgui.Config{BasePath: "/docs/"})
	for _, file := range swaggerFiles {
		r.Method("GET", "/docs/"+file, swagger)
	}
}

// docsPolicy makes the browser refuse files from other hosts, scripts in the
// page, and frames. Swagger UI needs inline styles.
const docsPolicy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func docsHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", docsPolicy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "public, max-age=3600")
		r.Header.Del("Range") // with it and the next, a file server has errors that are no problems
		r.Header.Del("If-Match")
		next.ServeHTTP(w, r)
	})
}
