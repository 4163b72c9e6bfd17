package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-json-experiment/json"
)

// maxBody bounds every request body that is read. It is client_max_body_size in nginx.conf.
const maxBody = 8 << 10

// requireJSON passes on requests whose body is neither compressed nor of another
// type than JSON. It rewrites the type to the only form that huma knows.
func requireJSON(ctx huma.Context, next func(huma.Context)) {
	r, w := humachi.Unwrap(ctx)
	if !isPlainJSON(r.Header) {
		unsupportedMedia.write(w)
		return
	}
	r.Header.Set("Content-Type", "application/json")
	next(ctx)
}

// requireNoBody passes on requests without a body. While one is awaited, a request
// holds a place that others need, before its user is known.
func requireNoBody(ctx huma.Context, next func(huma.Context)) {
	if r, w := humachi.Unwrap(ctx); r.ContentLength != 0 {
		noBody.write(w)
		return
	}
	next(ctx)
}

// isPlainJSON reports whether the header describes a JSON body. A body without a
// type is taken for JSON.
func isPlainJSON(h http.Header) bool {
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return false
	}
	if len(h.Values("Content-Type")) == 0 {
		return true
	}
	mediaType, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && mediaType == "application/json"
}

// jsonFormat encodes before it writes, and returns errors of the encoder only.
// huma panics on every error, but a failed write only means that the client has
// disconnected. It refuses what programs would read differently: a name that occurs
// twice in an object, what is not UTF-8, and half of a surrogate pair.
var jsonFormat = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		if p, ok := v.(*Problem); ok {
			v = p.traced(w.(http.ResponseWriter).Header())
		}
		b, err := encode(v)
		if err != nil {
			return err
		}
		_, _ = w.Write(b)
		return nil
	},
	Unmarshal: func(data []byte, v any) error {
		err := json.Unmarshal(data, v)
		if e, ok := errors.AsType[*json.SemanticError](err); ok {
			e.GoType = nil // the client sees the error
		}
		return err
	},
}
