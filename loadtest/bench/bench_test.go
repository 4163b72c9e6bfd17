package main

import (
	"bufio"
	"encoding/json"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/loadtest/stack"
)

func TestFiguresKnowMedianAndSpread(t *testing.T) {
	t.Parallel()
	var f Figures
	for _, v := range []float64{5, 1, 9, 3} {
		f.Add("x", "1/s", v)
	}
	f.Add("y", "1/s", 8)
	if x := f.all[0]; x.Median != 4 || x.Min != 1 || x.Max != 9 {
		t.Errorf("%+v", x)
	}
	if r := f.Ratio("x", "y"); r != 0.5 {
		t.Errorf("ratio %v, want 0.5", r)
	}
	if best := f.Best("x", "unknown", "y"); best != 8 {
		t.Errorf("best %v, want 8", best)
	}
	if !math.IsNaN(f.Best("unknown")) || !math.IsNaN(f.Ratio("x", "unknown")) {
		t.Error("what was not measured is a number")
	}
}

func TestBarsNameTheirLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		bar  Bar
		want string
	}{
		{Bar{Name: "a", Value: 2, Limit: 1}, `{"at_least":1,"met":true,"name":"a","value":2}`},
		{Bar{Name: "a", Value: 2, Limit: 1, AtMost: true}, `{"at_most":1,"met":false,"name":"a","value":2}`},
		{Bar{Name: "a", Value: math.NaN(), Limit: 1}, `{"at_least":1,"met":false,"name":"a","value":null}`},
		{Bar{Name: "a", Value: math.NaN(), Limit: 1, AtMost: true}, `{"at_most":1,"met":false,"name":"a","value":null}`},
	} {
		if got, err := json.Marshal(test.bar); err != nil || string(got) != test.want {
			t.Errorf("%s, %v; want %s", got, err, test.want)
		}
	}
}

// A server that stands still for 200 ms must be seen in the latencies of all
// claims that were due meanwhile, not only of those it had already got.
func TestArrivalsDoNotOmitWhatHadToWait(t *testing.T) {
	t.Parallel()
	const rate, stall = 1000, 200 * time.Millisecond
	begun := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if in := time.Since(begun); in > 300*time.Millisecond && in < 300*time.Millisecond+stall {
			time.Sleep(300*time.Millisecond + stall - in)
		}
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(server.Close)
	h := stack.Headers{Path: filepath.Join(t.TempDir(), "headers"), Count: rate, Width: 10}
	if err := os.WriteFile(h.Path, []byte(strings.Repeat("X-A: bcd\r\n", rate)), 0o600); err != nil {
		t.Fatal(err)
	}
	begun = time.Now()
	// Two connections: all others that are due must wait for one.
	out, err := arrivals{address: strings.TrimPrefix(server.URL, "http://"), rate: rate, conns: 2}.run(t.Context(), h, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if out.accepted != rate {
		t.Errorf("%d accepted, want %d", out.accepted, rate)
	}
	slow := 0
	for _, l := range out.latency {
		if l > stall/4 {
			slow++
		}
	}
	if want := int(rate * stall.Seconds() / 2); slow < want {
		t.Errorf("%d claims were slow, want at least %d", slow, want)
	}
}

func TestReadAnswerLeavesTheNextOne(t *testing.T) {
	t.Parallel()
	client, server := net.Pipe()
	go func() {
		_, _ = server.Write([]byte("HTTP/1.1 409 Conflict\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"))
		_ = server.Close()
	}()
	in := bufio.NewReader(client)
	for _, want := range []int{409, 201} {
		if got, err := readAnswer(in); err != nil || got != want {
			t.Errorf("%d, %v; want %d", got, err, want)
		}
	}
	if _, err := readAnswer(in); err == nil {
		t.Error("the end is an answer")
	}
}
