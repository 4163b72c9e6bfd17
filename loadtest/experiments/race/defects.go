package race

import (
	"net/http"
	"strconv"

	"example.com/flashsale/loadtest/experiments/generations"
)

// postDefect injects a fault into the generations of a lock that break under it and
// those that hold, and replies with what each did.
func (s *session) postDefect(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 0 || n >= len(generations.Defects()) {
		writeProblem(w, http.StatusNotFound, "defect_not_found", "there is no such defect")
		return
	}
	if !s.occupy() {
		writeProblem(w, http.StatusConflict, "race_running", errBusy.Error())
		return
	}
	defer s.running.Done()
	defer s.release()
	trials, err := generations.RunDefect(s.ctx, s.stack, n)
	if err != nil {
		writeProblem(w, http.StatusInternalServerError, "defect_failed", err.Error())
		return
	}
	writeJSON(w, http.StatusOK, trials)
}
