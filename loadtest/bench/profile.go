package main

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
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// profile says what bounds the claims: which process uses how much of the
// machine meanwhile, and for the service, its CPU and allocation profiles in
// out/bench. It is no part of the comparison: a profile costs time.
func (b *bench) profile(ctx context.Context) error {
	for _, commit := range []string{"each", "grouped"} {
		t, err := b.direct(ctx, b.service(commit, "LAB=true"))
		if err != nil {
			return err
		}
		b.progress("profile/%s", commit)
		if err := b.profileOf(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

const profiling = 3 // seconds

func (b *bench) profileOf(ctx context.Context, t target) error {
	var all errgroup.Group
	all.Go(func() error {
		l, err := b.win(ctx, t, crowd, (profiling+2)*time.Second, 1)
		b.Add("profile/"+t.name, "1/s", l.perSecond(l.accepted()))
		return err
	})
	all.Go(func() error {
		time.Sleep(time.Second)
		before, err := b.ticks(t)
		if err != nil {
			return err
		}
		if err := fetch(ctx, t, "profile?seconds="+strconv.Itoa(profiling), t.name+".cpu.pb.gz"); err != nil {
			return err
		}
		after, err := b.ticks(t)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(after)) {
			cores := float64(after[name]-before[name]) / ticksPerSecond / profiling
			b.Add(fmt.Sprintf("profile/%s, cores used by %s", t.name, name), "cores", cores)
		}
		return nil
	})
	if err := all.Wait(); err != nil {
		return err
	}
	return fetch(ctx, t, "allocs", t.name+".allocs.pb.gz")
}

// fetch writes a profile of the service to out/bench.
func fetch(ctx context.Context, t target, profile, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.instance.URL()+"/debug/pprof/"+profile, nil)
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

// ticksPerSecond is USER_HZ, which Linux has fixed for all programs.
const ticksPerSecond = 100

// ticks is the time that processes have used; nothing where there is no /proc.
func (b *bench) ticks(t target) (map[string]int, error) {
	all := map[string]int{}
	for name, pid := range map[string]int{"service": t.instance.PID(), "database": b.MySQL.PID(), "Redis": b.Redis.PID()} {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if os.IsNotExist(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		// The name in parentheses may hold spaces; utime and stime are 12th and 13th behind it.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		user, err := strconv.Atoi(fields[11])
		if err != nil {
			return nil, err
		}
		system, err := strconv.Atoi(fields[12])
		if err != nil {
			return nil, err
		}
		all[name] = user + system
	}
	return all, nil
}
