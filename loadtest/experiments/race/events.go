package race

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// batchInterval is how often a listener is sent what is new.
const batchInterval = 75 * time.Millisecond

// getEvents sends the race as server-sent events: first what has happened so
// far, then what happens, until the event end. A listener that is cut off gets
// everything again when it comes back; its first batch of each side says so.
func getEvents(w http.ResponseWriter, r *http.Request, l *live) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	var to listener
	for ended := false; !ended; {
		var events []event
		events, ended = l.tell(&to)
		for _, e := range events {
			data, err := json.Marshal(e.data) // one line
			if err != nil {
				return
			}
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.name, data)
		}
		if control.Flush() != nil || !ended && !rig.Sleep(r.Context(), batchInterval) {
			return
		}
	}
}
