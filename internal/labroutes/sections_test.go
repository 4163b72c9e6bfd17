package labroutes

import (
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/order"
)

func TestSectionIsReportedOnceAndBeforeTheTimeThatCompletesIt(t *testing.T) {
	t.Parallel()
	sections := NewSections(time.Millisecond)
	ask := func() (report struct {
		Sections []section
		Until    int64
		Open     int
	}) {
		w := httptest.NewRecorder()
		sections.ServeHTTP(w, httptest.NewRequest("GET", "/debug/sections", nil))
		check.NoError(t, json.Unmarshal(w.Body.Bytes(), &report))
		return report
	}
	now := time.Now()
	leave := sections.Observer()(t.Context(), order.Section{Key: "k", UserID: 42, Wanted: now, Granted: now})
	if r := ask(); len(r.Sections) != 0 || r.Open != 1 {
		t.Errorf("before its end: %+v", r)
	}
	leave()
	left := time.Now().UnixMicro()
	r := ask()
	if len(r.Sections) != 1 || r.Open != 0 || r.Until < left {
		t.Fatalf("%+v, left at %d", r, left)
	}
	if s := r.Sections[0]; s.Key != "k" || s.User != "42" || s.Granted != now.UnixMicro() ||
		s.Released < s.Granted+1000 {
		t.Errorf("%+v, granted at %d", s, now.UnixMicro())
	}
	if r := ask(); len(r.Sections) != 0 {
		t.Errorf("again: %+v", r)
	}
}
