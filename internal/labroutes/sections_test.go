package labroutes

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/order"
)

// The deadlines of a server are for requests that end; sections are read for as
// long as the client likes.
func TestSectionsOutliveTheDeadlinesOfTheServer(t *testing.T) {
	t.Parallel()
	sections := NewSections(0)
	server := httptest.NewUnstartedServer(sections)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 4*sectionInterval, 4*sectionInterval
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(sections.Close)
	resp, err := http.Get(server.URL)
	check.NoError(t, err)
	defer resp.Body.Close()
	lines := json.NewDecoder(resp.Body)
	for i := range 12 {
		var line struct{ Until int64 }
		if err := lines.Decode(&line); err != nil || line.Until == 0 {
			t.Fatalf("line %d: %+v, %v", i, line, err)
		}
	}
}

func TestSectionIsReportedBeforeTheTimeThatCompletesIt(t *testing.T) {
	t.Parallel()
	sections := NewSections(time.Millisecond)
	server := httptest.NewServer(sections)
	t.Cleanup(server.Close)
	t.Cleanup(sections.Close)
	resp, err := http.Get(server.URL)
	check.NoError(t, err)
	defer resp.Body.Close()
	now := time.Now()
	sections.Observer()(t.Context(), order.Section{Key: "k", UserID: 42, Wanted: now, Granted: now})()
	left := time.Now().UnixMicro()
	found := 0
	for lines := json.NewDecoder(resp.Body); ; {
		var line struct {
			section
			Until int64
		}
		check.NoError(t, lines.Decode(&line))
		if line.Until == 0 {
			found++
			if line.Key != "k" || line.User != "42" || line.Granted != now.UnixMicro() ||
				line.Released < line.Granted+1000 {
				t.Errorf("%+v, granted at %d", line, now.UnixMicro())
			}
		} else if line.Until > left {
			break
		}
	}
	if found != 1 {
		t.Errorf("%d sections, want 1", found)
	}
}
