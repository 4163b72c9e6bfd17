package stats

import (
	"testing"
	"time"
)

func TestQuantileInterpolatesLinearly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values  []float64
		q, want float64
	}{
		{nil, 0.5, 0},
		{[]float64{7}, 0, 7},
		{[]float64{7}, 0.99, 7},
		{[]float64{5, 1, 9}, 0.5, 5},
		{[]float64{5, 1, 9, 3}, 0.5, 4},
		{[]float64{10, 20, 30, 40, 50}, 0, 10},
		{[]float64{10, 20, 30, 40, 50}, 0.25, 20},
		{[]float64{10, 20, 30, 40, 50}, 0.875, 45},
		{[]float64{10, 20, 30, 40, 50}, 1, 50},
	} {
		if got := Quantile(c.values, c.q); got != c.want {
			t.Errorf("Quantile(%v, %v) = %v, want %v", c.values, c.q, got, c.want)
		}
	}
}

func TestQuantileLeavesItsValuesAlone(t *testing.T) {
	t.Parallel()
	values := []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 0}
	if got := Quantile(values, 0.99); got != 99*time.Millisecond {
		t.Errorf("p99 = %v, want 99ms", got)
	}
	if values[0] != 50*time.Millisecond || values[2] != 0 {
		t.Errorf("the values were sorted in place: %v", values)
	}
}
