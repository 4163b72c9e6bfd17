package race

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
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

// A sectionLine is a line of an instance's GET /debug/sections: a section, or the
// time until which all have been reported.
type sectionLine struct {
	Section
	Until int64 `json:"until"`
	Open  int   `json:"open"` // sections that have not ended
}

// readSections calls record with each section that ends from now on in any of the
// instances, and open with each that has some which have not ended. Times are
// microseconds of the wall clock.
func readSections(
	ctx context.Context, instances []*lab.API, record func(Section), open func(instance int),
) (*sections, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &sections{stop: cancel}
	for i, api := range instances {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, api.URL()+"/debug/sections", nil)
		if err != nil {
			cancel()
			return nil, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = errors.Join(fmt.Errorf("sections of an instance: %s", resp.Status), resp.Body.Close())
		}
		if err != nil {
			cancel()
			return nil, err
		}
		s.readers.Go(func() error { return s.read(resp, i, record, open) })
	}
	return s, nil
}

// read reads the lines of one instance until complete has all that it wants.
func (s *sections) read(resp *http.Response, instance int, record func(Section), open func(int)) error {
	defer resp.Body.Close()
	in := json.NewDecoder(bufio.NewReader(resp.Body))
	for {
		var line sectionLine
		if err := in.Decode(&line); err != nil {
			return fmt.Errorf("sections of instance %s: %w", rig.InstanceName(instance), err)
		}
		if line.Open > 0 {
			open(instance)
		}
		if line.Until == 0 {
			line.Instance = rig.InstanceName(instance)
			record(line.Section)
		} else if last := s.last.Load(); last != 0 && line.Until > last {
			return nil
		}
	}
}

// complete returns when all sections that have ended before this call have been
// recorded.
func (s *sections) complete(ctx context.Context) error {
	s.last.Store(time.Now().UnixMicro())
	stop := context.AfterFunc(ctx, s.stop)
	defer stop()
	return s.readers.Wait()
}
