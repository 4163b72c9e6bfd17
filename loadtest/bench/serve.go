package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
)

// serve runs one of the servers that the service is measured against, with the
// service's own settings for where to listen, so that the stack starts it in
// the service's place.
func serve(ctx context.Context) error {
	router := chi.NewRouter()
	router.Get("/readyz", func(http.ResponseWriter, *http.Request) {})
	switch flow := os.Getenv("FLOW"); flow {
	case "empty":
		router.Post("/coupons/{id}/orders", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	case "hand":
		h, err := newHand()
		if err != nil {
			return err
		}
		router.Post("/coupons/{id}/orders", h.claim)
	default:
		return fmt.Errorf("FLOW=%s: there are empty and hand", flow)
	}
	network, address := "tcp", os.Getenv("HTTP_ADDR")
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
	}
	l, err := net.Listen(network, address)
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
