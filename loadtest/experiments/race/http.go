package race

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"example.com/flashsale/loadtest/experiments/race/page"
)

// handler returns the handler of all routes, for a server that listens on addr.
func (s *session) handler(addr net.Addr) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}",
		func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, page.Files, "index.html") })
	mux.Handle("GET /page/", http.StripPrefix("/page/", http.FileServerFS(page.Files)))
	mux.HandleFunc("GET /race.html", getWholePage)
	mux.HandleFunc("GET /options",
		func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.options()) })
	mux.HandleFunc("GET /races",
		func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.summaries()) })
	mux.HandleFunc("POST /races", s.postRace)
	mux.HandleFunc("GET /races/{id}", s.with(func(w http.ResponseWriter, _ *http.Request, l *live) {
		writeJSON(w, http.StatusOK, l.snapshot())
	}))
	mux.HandleFunc("GET /races/{id}/events", s.with(getEvents))
	return protect(mux, addr)
}

// protect refuses requests that another site made the user's browser send: those
// whose Host is another name for this address (DNS rebinding), and those that
// change something and come from another origin.
func protect(next http.Handler, addr net.Addr) http.Handler {
	_, port, _ := net.SplitHostPort(addr.String())
	hosts := map[string]bool{"127.0.0.1:" + port: true, "localhost:" + port: true}
	sameOrigin := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", page.Policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !hosts[r.Host] {
			writeProblem(w, http.StatusMisdirectedRequest, "wrong_host",
				"the race is served at 127.0.0.1 and localhost only")
			return
		}
		sameOrigin.ServeHTTP(w, r)
	})
}

// getWholePage sends the page as one file, in which the page puts a race to be kept.
func getWholePage(w http.ResponseWriter, _ *http.Request) {
	document, err := page.Whole()
	if err != nil {
		writeProblem(w, http.StatusInternalServerError, "page_failed", err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, document)
}

// postRace starts a race.
func (s *session) postRace(w http.ResponseWriter, r *http.Request) {
	var request Request
	if err := decodeRequest(w, r, &request); err != nil {
		writeProblem(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	if wrong := validate(request); len(wrong) > 0 {
		writeProblem(w, http.StatusBadRequest, "invalid_race", "", wrong...)
		return
	}
	l, err := s.start(request)
	if err != nil {
		writeProblem(w, http.StatusConflict, "race_running", err.Error())
		return
	}
	snapshot := l.snapshot()
	w.Header().Set("Location", "/races/"+snapshot.ID)
	writeJSON(w, http.StatusCreated, snapshot)
}

// maxRequest is far above the size of the longest Request.
const maxRequest = 16 << 10

func decodeRequest(w http.ResponseWriter, r *http.Request, request *Request) error {
	if contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); contentType != "application/json" {
		return errors.New("the Content-Type must be application/json")
	}
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	in.DisallowUnknownFields()
	if err := in.Decode(request); err != nil {
		return fmt.Errorf("the body is not a race: %w", err)
	}
	return nil
}

// with finds the race that the path names.
func (s *session) with(serve func(http.ResponseWriter, *http.Request, *live)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		l := s.find(r.PathValue("id"))
		if l == nil {
			writeProblem(w, http.StatusNotFound, "race_not_found", "this session has no such race")
			return
		}
		serve(w, r, l)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has disconnected
}

func writeProblem(w http.ResponseWriter, status int, code, detail string, wrong ...FieldError) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	p := Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail, Errors: wrong}
	_ = json.NewEncoder(w).Encode(p)
}
