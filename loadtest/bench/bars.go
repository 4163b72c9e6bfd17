package main

import (
	"encoding/json"
	"math"
)

// A Bar is what a ratio of medians of this run should reach. One that is
// missed, or was not measured, is reported and nothing else.
type Bar struct {
	Name   string
	Value  float64 // NaN if this run has not measured it
	Limit  float64
	AtMost bool // otherwise at least
}

// Met reports whether the bar is reached.
func (b Bar) Met() bool {
	if b.AtMost {
		return b.Value <= b.Limit
	}
	return b.Value >= b.Limit
}

// MarshalJSON names the limit by its kind; a value that was not measured is
// null.
func (b Bar) MarshalJSON() ([]byte, error) {
	limit := "at_least"
	if b.AtMost {
		limit = "at_most"
	}
	out := map[string]any{"name": b.Name, "value": b.Value, limit: b.Limit, "met": b.Met()}
	if math.IsNaN(b.Value) {
		out["value"] = nil
	}
	return json.Marshal(out)
}

// bars are those that f can say something about.
func bars(f *Figures) []Bar {
	return []Bar{
		{Name: "grouped / articles' flow, one instance", Value: f.Ratio("claims/direct/grouped", "claims/direct/each"), Limit: 10},
		{Name: "grouped / empty handler, one instance", Value: f.Ratio("claims/direct/grouped", "claims/direct/empty"), Limit: 0.35},
		{Name: "grouped / articles' flow, two instances behind nginx", Value: f.Ratio("claims/nginx/grouped", "claims/nginx/each"), Limit: 7},
		{Name: "p99 of grouped at half its peak / of the empty handler at that rate", Value: f.Ratio("open/grouped p99", "open/empty p99"), Limit: 5, AtMost: true},
		{Name: "sold-out answers / empty handler", Value: f.Ratio("losers/sold out", "claims/direct/empty"), Limit: 0.6},
		{Name: "articles' flow in the service / by hand", Value: f.Ratio("claims/direct/each", "claims/direct/by hand"), Limit: 0.85},
		{Name: "redislock pairs, 1 goroutine / SET NX + compare-and-delete", Value: f.Ratio("pairs/1/redislock", "pairs/1/raw"), Limit: 0.9},
		{Name: "redislock pairs, batched, 128 goroutines / best peer", Value: f.Median("pairs/128/redislock batched") / bestPeer(f, "pairs/128/"), Limit: 1.7},
		{Name: "redislock pairs, batched, 512 goroutines / best peer", Value: f.Median("pairs/512/redislock batched") / bestPeer(f, "pairs/512/"), Limit: 2.5},
		{Name: "contended hand-overs / best peer", Value: f.Median("contended/redislock") / bestPeer(f, "contended/"), Limit: 1.2},
		{Name: "lock calls per hand-over", Value: f.Median("contended/redislock calls"), Limit: contenders + 1, AtMost: true},
		{Name: "claims with 10^6 orders / with 10^4", Value: f.Ratio("growth/1000000 orders", "growth/10000 orders"), Limit: 0.85},
		{Name: "service memory at 4,096 connections (MB)", Value: f.Median("growth/4096 connections memory"), Limit: 200, AtMost: true},
	}
}

func bestPeer(f *Figures, prefix string) float64 {
	var names []string
	for _, peer := range peers {
		names = append(names, prefix+peer)
	}
	return f.Best(names...)
}
