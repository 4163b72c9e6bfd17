package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-chi/chi/v5"
)

// Serve runs one of the servers that the service is compared to: the one that
// the setting SERVER names. It reads the service's settings, so that the stack can
// start it instead of the service.
func Serve(ctx context.Context) error {
	router := chi.NewRouter()
	router.Get("/readyz", func(http.ResponseWriter, *http.Request) {})
	switch name := os.Getenv("SERVER"); name {
	case "empty":
		router.Post("/coupons/{id}/orders",
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	case "baseline":
		b, err := newBaseline()
		if err != nil {
			return err
		}
		router.Post("/coupons/{id}/orders", b.handleClaim)
	case "floor":
		f, err := newFloorServer()
		if err != nil {
			return err
		}
		router.Post("/coupons/{id}/orders", f.handleClaim)
	default:
		return fmt.Errorf("SERVER=%s: want empty, floor or baseline", name)
	}
	l, err := net.Listen("tcp", os.Getenv("HTTP_ADDR"))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: router, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
