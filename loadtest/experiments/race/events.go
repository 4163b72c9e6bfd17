package race

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// getEvents sends the race as server-sent events: first what has happened so
// far, then what happens, until the event end. A listener that is cut off gets
// everything again when it comes back; its first batch of each side says so.
func getEvents(w http.ResponseWriter, r *http.Request, l *live) {
	replay, next, stop := l.listen()
	defer stop()
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for _, e := range replay {
		if writeEvent(w, e) != nil {
			return
		}
	}
	for control.Flush() == nil {
		select {
		case e, more := <-next:
			if !more || writeEvent(w, e) != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

func writeEvent(w http.ResponseWriter, e event) error {
	data, err := json.Marshal(e.data) // one line
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.name, data)
	return err
}
