package race

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"example.com/flashsale/loadtest/experiments/race/page"
)

// getSavedPage sends the page with the race in it, as one file to keep.
func getSavedPage(w http.ResponseWriter, _ *http.Request, l *live) {
	r := l.snapshot()
	writeSaved(w, "race-"+r.ID, r)
}

// writeSaved sends the one-file page, with a race in it unless race is nil. The
// file has a policy of its own, for the scripts in it.
func writeSaved(w http.ResponseWriter, name string, race any) {
	var file bytes.Buffer
	data, err := json.Marshal(race)
	if err == nil {
		err = page.WriteFile(&file, data)
	}
	if err != nil {
		// not reached with the embedded files
		http.Error(w, "the page cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Del("Content-Security-Policy")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name+".html"))
	_, _ = w.Write(file.Bytes())
}
