package race

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// sections reads the critical sections that instances report.
type sections struct {
	stop    context.CancelFunc
	last    atomic.Int64 // sections until this time are wanted; 0 while the burst is running
	readers errgroup.Group
}

// A sectionReport is a response of an instance's GET /debug/sections: the sections that have
// ended since the request before, and the time until which these are all.
type sectionReport struct {
	Sections []Section `json:"sections"`
	Until    int64     `json:"until"`
	Open     int       `json:"open"` // sections that have not ended
}

// sectionInterval is the time between two requests to an instance.
const sectionInterval = 50 * time.Millisecond

// readSections calls record with each section that ends from now on in any of the
// instances, and open with each that has some which have not ended. Times are
// microseconds of the wall clock.
func readSections(
	ctx context.Context, instances []*lab.API, record func(Section), open func(instance int),
) (*sections, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &sections{stop: cancel}
	for i, api := range instances {
		if _, err := askSections(ctx, api); err != nil { // of before
			cancel()
			return nil, err
		}
		s.readers.Go(func() error { return s.read(ctx, api, i, record, open) })
	}
	return s, nil
}

// read asks one instance until complete has all that it wants.
func (s *sections) read(
	ctx context.Context, api *lab.API, instance int, record func(Section), open func(int),
) error {
	for {
		report, err := askSections(ctx, api)
		if err != nil {
			return fmt.Errorf("sections of instance %s: %w", rig.InstanceName(instance), err)
		}
		if report.Open > 0 {
			open(instance)
		}
		for _, section := range report.Sections {
			section.Instance = rig.InstanceName(instance)
			record(section)
		}
		if last := s.last.Load(); last != 0 && report.Until > last {
			return nil
		}
		time.Sleep(sectionInterval)
	}
}

func askSections(ctx context.Context, api *lab.API) (report sectionReport, err error) {
	err = rig.NewClient(api.URL()).Call(ctx, http.MethodGet, "/debug/sections", "", nil, http.StatusOK, &report)
	return report, err
}

// complete returns when all sections that have ended before this call have been
// recorded.
func (s *sections) complete(ctx context.Context) error {
	s.last.Store(time.Now().UnixMicro())
	stop := context.AfterFunc(ctx, s.stop)
	defer stop()
	return s.readers.Wait()
}
