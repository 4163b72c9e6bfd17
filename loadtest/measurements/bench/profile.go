package bench

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// profiles are the CPU time of each process under full load.
var profiles = section{
	name: "profile", measure: (*bench).measureProfiles,
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

// measureProfiles measures what limits the claims: the CPU time of each process, and
// the service's CPU and allocation profiles, saved in out/bench. Its throughput
// is not compared, because profiling slows the service down.
func (b *bench) measureProfiles(ctx context.Context) error {
	for _, commit := range []string{"each", "grouped"} {
		d, err := b.direct(ctx, serviceVariant(commit, "LAB=true"))
		if err != nil {
			return err
		}
		b.progress("profile/%s", commit)
		if err := b.profileDeployment(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

const profileSeconds = 3

func (b *bench) profileDeployment(ctx context.Context, d deployment) error {
	var group errgroup.Group
	group.Go(func() error {
		r, err := b.claim(ctx, d, defaultConns, (profileSeconds+2)*time.Second, 1)
		b.add(profileOf(d.variant).figure, r.perSecond(r.accepted))
		return err
	})
	group.Go(func() error {
		time.Sleep(time.Second)
		before, err := b.cpuTicks(d)
		if err != nil {
			return err
		}
		if err := saveProfile(ctx, d, "profile?seconds="+strconv.Itoa(profileSeconds),
			d.name+".cpu.pb.gz"); err != nil {
			return err
		}
		after, err := b.cpuTicks(d)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(after)) {
			cores := float64(after[name]-before[name]) / ticksPerSecond / profileSeconds
			b.add(profileOf(d.variant).cores(name), cores)
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return saveProfile(ctx, d, "allocs", d.name+".allocs.pb.gz")
}

// saveProfile downloads a profile of the service to out/bench.
func saveProfile(ctx context.Context, d deployment, profile, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.instance.URL()+"/debug/pprof/"+profile, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", profile, resp.Status)
	}
	if err := os.MkdirAll(outDir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(outDir, file), body, 0o644)
}

// cpuTicks returns the CPU time that each process has used. It returns an empty
// map on a system without /proc.
func (b *bench) cpuTicks(d deployment) (map[string]int, error) {
	ticks := map[string]int{}
	for name, pid := range map[string]int{service: d.instance.PID(), database: b.MySQL.PID(),
		redisServer: b.Redis.PID()} {
		n, err := processTicks(pid)
		if os.IsNotExist(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		ticks[name] = n
	}
	return ticks, nil
}
