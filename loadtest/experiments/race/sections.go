package race

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A sectionReport is a response of an instance's GET /debug/sections: the sections that have
// ended since the request before.
type sectionReport struct {
	Sections []Section `json:"sections"`
	Open     int       `json:"open"` // sections that have not ended
}

// sectionInterval is the time between two requests to an instance.
const sectionInterval = 50 * time.Millisecond

// readSections calls record with each critical section that ends in the i-th instance until
// running has ended. The fault strikes the first that has not ended. Times are microseconds of
// the wall clock.
func (v *service) readSections(ctx, running context.Context, i int, record func(Section)) error {
	client, name := rig.NewClient(v.Instances[i].URL()), rig.InstanceName(i)
	for last := false; !last; rig.Sleep(running, sectionInterval) {
		last = running.Err() != nil // the response has all that ended before its request
		var report sectionReport
		err := client.Call(ctx, http.MethodGet, "/debug/sections", "", nil, http.StatusOK, &report)
		if err != nil {
			return fmt.Errorf("sections of instance %s: %w", name, err)
		}
		for _, section := range report.Sections {
			section.Instance = name
			record(section)
		}
		if report.Open == 0 {
			continue
		}
		if err := v.strike(ctx, i); err != nil {
			return err
		}
	}
	return nil
}
