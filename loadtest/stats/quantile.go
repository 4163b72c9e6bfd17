// Package stats computes the statistics that the load tests report.
//
// It needs nothing but the standard library, so that the module of bench-peers can
// use it as well.
package stats

import "slices"

// Quantile returns the q-quantile of values, which need not be sorted. It
// interpolates linearly between the two nearest values, as k6 and NumPy do; the
// median of an even number of values is the mean of the middle two. It returns
// zero if there are no values.
func Quantile[T ~int | ~int64 | ~float64](values []T, q float64) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := q * float64(len(sorted)-1)
	below := int(rank)
	above := min(below+1, len(sorted)-1)
	low, high := float64(sorted[below]), float64(sorted[above])
	return T(low + (high-low)*(rank-float64(below)))
}
