package httpapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"

	"example.com/flashsale/internal/check"
)

// A spec is what the tests read of the OpenAPI document.
type spec struct {
	OpenAPI    string
	Paths      map[string]map[string]specOperation
	Components struct{ Schemas map[string]specSchema }
}

type specOperation struct {
	Parameters  []specParameter
	RequestBody *struct{}
	Responses   map[string]struct {
		Description string
		Headers     map[string]struct{ Required bool }
		Content     map[string]struct{ Schema specSchema }
	}
}

type specParameter struct {
	Name   string
	Schema specSchema
}

type specSchema struct {
	Ref        string `json:"$ref"`
	Pattern    string
	Format     string
	Enum       []string
	Required   []string
	Properties map[string]specSchema
}

// theSpec is that of every API.
var theSpec struct {
	sync.Once
	spec
}

// served reads the document that an API serves.
func served(tb testing.TB, api *API) spec {
	tb.Helper()
	theSpec.Do(func() {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, request("GET", "/openapi.json", "", "", ""))
		check.NoError(tb, json.Unmarshal(w.Body.Bytes(), &theSpec.spec))
	})
	return theSpec.spec
}

// checkDocumented reports what the document does not say about the response to r, if it has
// the route. The fixture calls it for every response of every test.
func (f *fixture) checkDocumented(r *http.Request, got response) {
	f.tb.Helper()
	tb, route := f.tb, chi.NewRouteContext()
	f.handler.(chi.Routes).Match(route, r.Method, cmp.Or(r.URL.RawPath, r.URL.Path))
	op, found := f.spec.Paths[route.RoutePattern()][strings.ToLower(r.Method)]
	if !found {
		return
	}
	documented, ok := op.Responses[strconv.Itoa(got.Code)]
	mediaType := got.Header().Get("Content-Type")
	_, typed := documented.Content[mediaType]
	if !ok || !typed {
		tb.Errorf("%s %s: the document has no %d with %s", r.Method, r.URL, got.Code, mediaType)
	}
	for name, header := range documented.Headers {
		if header.Required && got.Header().Get(name) == "" {
			tb.Errorf("%s %s: no header %s: %v", r.Method, r.URL, name, got)
		}
	}
	for name := range got.Header() {
		standard := []string{"Cache-Control", "Connection", "Content-Length", "Content-Type", "Date",
			"X-Content-Type-Options"}
		if _, ok := documented.Headers[name]; !ok && !slices.Contains(standard, name) {
			tb.Errorf("%s %s: the document has no header %s: %v", r.Method, r.URL, name, got)
		}
	}
	if got.Code >= 400 && !strings.Contains(documented.Description, "- `"+got.id("code")+"`: ") {
		tb.Errorf("%s %s: %s is not one of the documented codes:\n%s",
			r.Method, r.URL, got.id("code"), documented.Description)
	}
}

// The document is read, and served, by one API.
func TestDocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	t.Run("OpenAPIHasEveryRouteOfTheSale", f.openAPIHasEveryRouteOfTheSale)
	t.Run("OpenAPIHasEveryCode", f.openAPIHasEveryCode)
	t.Run("OpenAPIHasThePatternOfEveryID", f.openAPIHasThePatternOfEveryID)
	t.Run("ClientsInPythonCanCheckPatterns", f.clientsInPythonCanCheckPatterns)
	t.Run("GeneratorsFindOneTypeOfProblems", f.generatorsFindOneTypeOfProblems)
	t.Run("EveryOperationSaysWhetherItIsSafeToRepeat", f.everyOperationSaysWhetherItIsSafeToRepeat)
	t.Run("DocsLoadNothingFromOtherHosts", f.docsLoadNothingFromOtherHosts)
}

func (f *fixture) openAPIHasEveryRouteOfTheSale(t *testing.T) {
	if !strings.HasPrefix(f.spec.OpenAPI, "3.1") {
		t.Errorf("OpenAPI %s, want 3.1", f.spec.OpenAPI)
	}
	err := chi.Walk(f.handler.(chi.Routes),
		func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
			if strings.HasPrefix(route, "/coupons") || strings.HasPrefix(route, "/orders") {
				if _, ok := f.spec.Paths[route][strings.ToLower(method)]; !ok {
					t.Errorf("%s %s is not documented", method, route)
				}
			}
			return nil
		})
	if err != nil {
		t.Error(err)
	}
	if required := f.spec.Components.Schemas["Problem"].Required; !slices.Contains(required, "code") {
		t.Errorf("code is not a required member of problems: %s", required)
	}
}

// The test reads the sources, and nginx's, to find the codes, because a list of values could
// be incomplete. The statuses 412 and 416 are of the files of /docs.
func (f *fixture) openAPIHasEveryCode(t *testing.T) {
	files, err := filepath.Glob("*.go")
	check.NoError(t, err)
	var created []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		check.NoError(t, err)
		for _, match := range regexp.MustCompile(`newProblem\(\d+, "(\w+)"`).FindAllStringSubmatch(string(source),
			-1) {
			created = append(created, match[1])
		}
	}
	ofNginx, err := os.ReadFile("../../deploy/nginx/problems.conf")
	check.NoError(t, err)
	for _, match := range regexp.MustCompile(`(?m)^    (\d{3}) ([a-z]\w+);$`).FindAllStringSubmatch(string(ofNginx), -1) {
		if match[1] != "412" && match[1] != "416" {
			created = append(created, match[2])
		}
	}
	documented := f.spec.Components.Schemas["Problem"].Properties["code"].Enum
	slices.Sort(created)
	slices.Sort(documented)
	created = slices.Compact(created) // two problems may share a code
	if len(created) < 20 || !slices.Equal(created, documented) {
		t.Errorf("the sources have the codes\n%v, the document has\n%v", created, documented)
	}
}

func (f *fixture) clientsInPythonCanCheckPatterns(t *testing.T) {
	for name, schema := range f.spec.Components.Schemas {
		for member, s := range schema.Properties {
			if s.Pattern != "" && (s.Format == "date-time" || strings.Contains(s.Pattern, `\p`)) {
				t.Errorf("%s of %s has the pattern %s", member, name, s.Pattern)
			}
		}
	}
}

func (f *fixture) generatorsFindOneTypeOfProblems(t *testing.T) {
	for path, operations := range f.spec.Paths {
		for method, op := range operations {
			for status, r := range op.Responses {
				schema := r.Content["application/problem+json"].Schema
				alone := schema.Ref == "#/components/schemas/Problem" && schema.Properties == nil
				if status >= "400" && (!alone || r.Headers["Retry-After"].Required) {
					t.Errorf("%s %s, %s: %+v", method, path, status, r)
				}
			}
		}
	}
}

func (f *fixture) openAPIHasThePatternOfEveryID(t *testing.T) {
	for path, operations := range f.spec.Paths {
		for method, op := range operations {
			for _, p := range op.Parameters {
				if p.Name != "limit" && p.Name != "number" && p.Name != keyHeader && p.Schema.Pattern != idPattern {
					t.Errorf("%s %s: %s has the pattern %q", method, path, p.Name, p.Schema.Pattern)
				}
			}
		}
	}
}
