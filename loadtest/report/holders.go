package report

import (
	"strings"
	"time"

	"example.com/flashsale/loadtest/holder"
)

// Holder returns the row of a holder that has said lines: when it took itself for the
// holder, and each answer of its lock. place returns where a time is drawn.
func Holder(name string, lines []holder.Line, place func(time.Duration) float64) Lane {
	lane := Lane{Name: name}
	add := func(kind Kind, what string, from, to time.Duration) {
		lane.Spans = append(lane.Spans, Span{Name: what, Kind: kind, From: place(from), To: place(to)})
	}
	for _, h := range holder.Holds(lines) {
		add(Hold, "takes itself for the holder", h.From, h.To)
	}
	for _, l := range lines {
		if l.Word != holder.Write && l.Word != holder.Ready {
			add(Call, strings.TrimSpace(string(l.Word)+" "+l.Text), l.At, l.At)
		}
	}
	return lane
}
