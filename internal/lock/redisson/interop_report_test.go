package redisson_test

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"example.com/flashsale/internal/lab/labtest"
)

// An interopReport is the result that `make interop` writes.
type interopReport struct {
	mu sync.Mutex

	Redisson         string                     `json:"redisson"` // version
	Handovers        int                        `json:"handovers"`
	BetweenLanguages int                        `json:"between_languages"`
	ByPrimitive      map[string]handoverResults `json:"kinds"`
	Pass             bool                       `json:"pass"`
}

// handoverResults are the results of one primitive.
type handoverResults struct {
	Acquisitions     int     `json:"takings"`
	Handovers        int     `json:"handovers"`         // from one contender to another
	BetweenLanguages int     `json:"between_languages"` // of these, between Java and Go
	Reads            int     `json:"reads_checked,omitempty"`
	Seconds          float64 `json:"seconds"`
}

// write logs the report and writes it to the file that INTEROP_JSON names.
func (r *interopReport) write(t *testing.T) {
	r.Pass = !t.Failed()
	for _, name := range slices.Sorted(maps.Keys(r.ByPrimitive)) {
		p := r.ByPrimitive[name]
		r.Handovers += p.Handovers
		r.BetweenLanguages += p.BetweenLanguages
		t.Logf("%-10s %6d acquisitions %6d handovers %6d between Java and Go %5.1f s", name, p.Acquisitions,
			p.Handovers, p.BetweenLanguages, p.Seconds)
	}
	t.Logf("%-10s %6d handovers, %d between Java and Go, Redisson %s", "all", r.Handovers,
		r.BetweenLanguages, r.Redisson)
	if r.Handovers < 10_000 {
		t.Errorf("%d handovers, want 10,000", r.Handovers)
		r.Pass = false
	}
	labtest.WriteInterop(t, r)
}
