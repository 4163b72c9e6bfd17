package main

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

// A receiver is an OTLP receiver. It keeps the spans.
type receiver struct {
	url   string
	mu    sync.Mutex
	spans []*tracepb.Span
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	r := new(receiver)
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// ServeHTTP implements OTLP over HTTP.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var export collector.ExportTraceServiceRequest
	if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(body, &export) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, origin := range export.GetResourceSpans() {
		for _, scope := range origin.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
}

// received returns the spans of i, which it stops: then all of them are sent.
func (r *receiver) received(t *testing.T, i *instance) []*tracepb.Span {
	t.Helper()
	i.end(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spans
}

// named returns the spans with the name.
func named(spans []*tracepb.Span, name string) (found []*tracepb.Span) {
	for _, s := range spans {
		if s.GetName() == name {
			found = append(found, s)
		}
	}
	return found
}

const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

// The claim comes through nginx and belongs to a trace of its client. The spans
// are what a real receiver got.
func TestOneTraceTellsOneClaim(t *testing.T) {
	t.Parallel()
	const password = "secret-of-redis"
	redis := labtest.Redis(t)
	check.NoError(t, labtest.Dial(t, redis).ConfigSet(t.Context(), "requirepass", password).Err())
	r := startReceiver(t)
	i := start(t, environ(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": r.url, "ACCESS_LOG": "1",
		"REDIS_URL": strings.Replace(redis.URL, "unix://", "unix://:"+password+"@", 1),
	})).ready(t)
	coupon, token := i.createCoupon(t, 1), tokenFor(t, 42, auth.RoleUser)
	made := behindNginx(t, i.address()).do(t, "POST", "/coupons/"+coupon+"/orders", token, "",
		"Traceparent", "00-"+traceID+"-00f067aa0ba902b7-01")
	if made.status != http.StatusCreated || made.header.Get("X-Trace-Id") != traceID {
		t.Fatalf("%+v", made)
	}
	spans := slices.DeleteFunc(r.received(t, i),
		func(s *tracepb.Span) bool { return hex.EncodeToString(s.GetTraceId()) != traceID })
	checkTree(t, spans)
	checkLinked(t, spans)
	for _, s := range spans {
		for _, secret := range []string{token, secret, password, "Bearer"} {
			if strings.Contains(s.String(), secret) {
				t.Errorf("%s tells a secret: %s", s.GetName(), s)
			}
		}
	}
	if !strings.Contains(i.log.String(), `"trace_id":"`+traceID+`"`) {
		t.Error("no log line has the trace")
	}
}

// checkTree checks that each step is a child of the right one.
func checkTree(t *testing.T, spans []*tracepb.Span) {
	t.Helper()
	names := map[string]string{"00f067aa0ba902b7": "client"} // by span id
	for _, s := range spans {
		names[hex.EncodeToString(s.GetSpanId())] = s.GetName()
	}
	var tree []string
	for _, s := range spans {
		tree = append(tree, names[hex.EncodeToString(s.GetParentSpanId())]+" > "+s.GetName())
	}
	const root = "POST /coupons/{id}/orders"
	for _, want := range []string{
		"client > " + root, root + " > identity", root + " > coupon", root + " > precheck", root + " > slot",
		root + " > lock",
		"lock > id", "lock > commit", "commit > batch",
		"coupon > sql.conn.query", "batch > sql.conn.exec", // of MySQL
		"lock > evalsha", "id > evalsha", // of Redis
	} {
		if !slices.Contains(tree, want) {
			t.Errorf("no span %s in:\n%s", want, strings.Join(tree, "\n"))
		}
	}
	if n := len(named(spans, "lock")); n != 1 {
		t.Errorf("%d spans lock", n)
	}
}

// checkLinked checks that the batch has a link to the commit of the claim, and that to it.
func checkLinked(t *testing.T, spans []*tracepb.Span) {
	t.Helper()
	batch, commit := named(spans, "batch"), named(spans, "commit")
	if len(batch) != 1 || len(commit) != 1 || !isLinked(batch[0], commit[0]) || !isLinked(commit[0], batch[0]) {
		t.Errorf("batch %v, commit %v", batch, commit)
	}
}

func isLinked(from, to *tracepb.Span) bool {
	return slices.ContainsFunc(from.GetLinks(),
		func(l *tracepb.Span_Link) bool { return string(l.GetSpanId()) == string(to.GetSpanId()) })
}

func TestProblemNamesItsTrace(t *testing.T) {
	t.Parallel()
	r := startReceiver(t)
	i := start(t, environ(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": r.url + "/v1/traces"})).ready(t)
	for path, want := range map[string]int{"/coupons/1": 404, "/coupons/none": 422, "/nowhere": 404} {
		got := i.get(t, path, tokenFor(t, 42, auth.RoleUser))
		if id := got.body["trace_id"]; got.status != want || id == nil || id != got.header.Get("X-Trace-Id") {
			t.Errorf("%s: %d %v", path, got.status, got.body)
		}
	}
	if got := i.post(t, "/coupons/1/orders", "", ""); got.body["trace_id"] == nil {
		t.Errorf("without a token: %s", got.text)
	}
	i.get(t, "/readyz", "")
	for _, s := range r.received(t, i) {
		if len(s.GetParentSpanId()) == 0 && !strings.HasPrefix(s.GetName(), "GET") &&
			!strings.HasPrefix(s.GetName(), "POST") || strings.Contains(s.GetName(), "readyz") {
			t.Errorf("%s began a trace", s.GetName())
		}
	}
}

func TestNothingIsWrappedWhenTracesAreOff(t *testing.T) {
	t.Parallel()
	s, err := open(unreachable(t), discard)
	check.NoError(t, err)
	defer s.close()
	if _, plain := s.batches.Driver().(*mysql.MySQLDriver); !plain {
		t.Errorf("the driver is %T", s.batches.Driver())
	}
}
