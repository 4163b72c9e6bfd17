package transaction

import (
	"maps"
	"slices"
)

// Numbers returns the numbers of the table.
func Numbers() []uint16 { return slices.Sorted(maps.Keys(meanings)) }
