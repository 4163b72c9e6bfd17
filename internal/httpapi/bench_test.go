package httpapi

import (
	"net/http"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/lab/labtest"
)

// BenchmarkClaimRoute compares serveClaim with the same operation served by
// huma. The sale has ended, so a claim needs neither Redis nor MySQL.
func BenchmarkClaimRoute(b *testing.B) {
	f := newFixture(b)
	id := f.createCouponFrom(b, -2*time.Hour, -time.Hour, 1)
	r := claimRequest(id, userToken(b, 42))
	r.Body = http.NoBody
	library := chi.NewRouter()
	library.Use(f.middleware, middleware.GetHead)
	handle(f.API, humachi.New(library, document()), auth.RoleUser, claimRoute, "Claim a coupon", f.API.claim)
	for name, handler := range map[string]http.Handler{"shortcut": f.API, "library": library} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			report := labtest.MeasureCPU(b)
			for range b.N {
				w := &discardWriter{header: http.Header{}}
				if handler.ServeHTTP(w, r); w.status != 409 {
					b.Fatalf("status %d, want 409", w.status)
				}
			}
			report()
		})
	}
}

// A discardWriter is a response of which only the status is kept.
type discardWriter struct {
	header http.Header
	status int
}

func (w *discardWriter) Header() http.Header         { return w.header }
func (w *discardWriter) WriteHeader(status int)      { w.status = status }
func (w *discardWriter) Write(b []byte) (int, error) { return len(b), nil }
