package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// jmeter sends the views by the plan loadtest/jmeter/pview.jmx.
func (v *Views) jmeter(ctx context.Context, dir, target string) error {
	results := filepath.Join(dir, "results.csv")
	err := rig.JMeter(ctx, dir, "pview.jmx", results, target,
		fmt.Sprintf("burst=%d", atOnce), "version="+v.Version, "sample_variables=wait,instance")
	if err != nil {
		return err
	}
	f, err := os.Open(results)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", results, err)
	}
	return v.read(rows)
}

// read takes the samples called view; the first row names the fields.
func (v *Views) read(rows [][]string) error {
	if len(rows) == 0 {
		return fmt.Errorf("JMeter left no samples")
	}
	names, waits := rows[0], []float64(nil)
	var first, last float64
	for _, row := range rows[1:] {
		field := func(name string) string {
			if i := slices.Index(names, name); i >= 0 {
				return row[i]
			}
			return ""
		}
		if field("label") != "view" || field("responseCode") != "200" {
			continue
		}
		begun, err1 := strconv.ParseFloat(field("timeStamp"), 64)
		took, err2 := strconv.ParseFloat(field("elapsed"), 64)
		wait, err3 := strconv.ParseFloat(field("wait"), 64)
		if err := cmp.Or(err1, err2, err3); err != nil {
			return err
		}
		if v.Answered == 0 {
			first = begun
		}
		first, last, waits = min(first, begun), max(last, begun+took), append(waits, wait)
		v.Answered++
		switch field("instance") {
		case "a":
			v.OnA++
		case "b":
			v.OnB++
		}
	}
	if len(waits) > 0 {
		v.WaitP50, v.WaitP99 = stats.Quantile(waits, 0.5), stats.Quantile(waits, 0.99)
		v.PerSecond = float64(v.Answered) / max(0.001, (last-first)/1000)
	}
	return nil
}
