package bench

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-chi/chi/v5"
)

// ServeEmpty runs a server that accepts every claim and does nothing else: what the
// service is compared to. It reads the service's settings, so that it can be started
// in place of an instance.
func ServeEmpty(ctx context.Context) error {
	router := chi.NewRouter()
	router.Get("/readyz", func(http.ResponseWriter, *http.Request) {})
	router.Post("/coupons/{id}/orders",
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
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
