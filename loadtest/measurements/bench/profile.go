package bench

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/loadtest/rig"
)

// profiles are the CPU time of each process under full load.
var profiles = section{
	name: "profile", prepare: prepareProfiles,
	tables: []table{{"cpu", []string{"", "claims/s", service, database, redisServer}, []row{
		cpuRow("`each`", each), cpuRow("`grouped`", grouped),
	}}},
}

// profiled are the figures of a variant during its profile.
type profiled struct{ rate }

func profileOf(v variant) profiled { return profiled{rateOf("profile/%s", v.name)} }

// cores is the share of one process.
func (p profiled) cores(process string) figure {
	return figure{p.name + ", cores used by " + process, "cores"}
}

func cpuRow(label string, v variant) row {
	p := profileOf(v)
	return row{label, []cell{number(p.figure), number(p.cores(service)), number(p.cores(database)),
		number(p.cores(redisServer))}}
}

// The processes whose CPU time is measured.
const service, database, redisServer = "service", "database", "Redis"

// prepareProfiles measures what limits the claims: the CPU time of each process, and
// the service's CPU and allocation profiles, saved in out/bench. Its throughput
// is not compared, because profiling slows the service down.
func prepareProfiles(ctx context.Context, b *bench) ([]turns, error) {
	var all []measurement
	for _, commit := range []string{"each", "grouped"} {
		d, err := b.startOne(ctx, serviceVariant(commit, "LAB=true"))
		if err != nil {
			return nil, err
		}
		to := profileOf(d.variant)
		processes := []process{{service, d.Instances[0].PID()}, {database, b.MySQL.PID()},
			{redisServer, b.Redis.PID()}}
		all = append(all, measurement{to.name, func(ctx context.Context) ([]measured, error) {
			return profile(ctx, to, d, processes)
		}})
	}
	return []turns{{1, all}}, nil
}

// A process is one whose CPU time is measured.
type process struct {
	name string
	pid  int
}

const profileSeconds = 3

// profile claims for longer than a CPU profile takes, and saves both profiles.
func profile(ctx context.Context, to profiled, d deployment, processes []process) (values []measured, err error) {
	var group errgroup.Group
	var o outcome
	group.Go(func() (err error) {
		o, err = d.claim(ctx, closed(defaultConns, (profileSeconds+2)*time.Second), 1, 1)
		return err
	})
	group.Go(func() error {
		time.Sleep(time.Second)
		before := make([]time.Duration, len(processes))
		for i, p := range processes {
			before[i] = cpuTime(p.pid)
		}
		err := saveProfile(ctx, d, "profile?seconds="+strconv.Itoa(profileSeconds), d.name+".cpu.pb.gz")
		for i, p := range processes {
			if used := cpuTime(p.pid) - before[i]; before[i] > 0 { // else the system has no /proc
				values = append(values, measured{to.cores(p.name), used.Seconds() / profileSeconds})
			}
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	rates, err := o.rates(to.rate, rig.Accepted)
	if err != nil {
		return nil, err
	}
	return append(rates[:1], values...), saveProfile(ctx, d, "allocs", d.name+".allocs.pb.gz")
}

// saveProfile downloads a profile of the service to out/bench.
func saveProfile(ctx context.Context, d deployment, profile, file string) error {
	status, body, err := rig.NewClient(d.Instances[0].URL()).Do(ctx, http.MethodGet, "/debug/pprof/"+profile, "", nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: status %d", profile, status)
	}
	if err != nil {
		return err
	}
	return rig.WriteFile(filepath.Join(outDir, file), body)
}
