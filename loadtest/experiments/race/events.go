package race

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// messageInterval is how often a listener is sent what is new.
const messageInterval = 75 * time.Millisecond

// getEvents sends the events of a race as server-sent messages, from its first to its
// last. A message's id is the number of events so far: a listener that was cut off names it
// when it comes back, and is sent what it has missed.
func getEvents(w http.ResponseWriter, r *http.Request, l *live) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	sent, _ := strconv.Atoi(r.Header.Get("Last-Event-ID")) // a new listener has none
	for last := false; !last; {
		var events []Event
		if events, last = l.since(max(0, sent)); len(events) > 0 {
			data, err := json.Marshal(events) // one line
			if err != nil {
				return
			}
			sent += len(events)
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", sent, data)
		}
		if control.Flush() != nil || !last && !rig.Sleep(r.Context(), messageInterval) {
			return
		}
	}
}
