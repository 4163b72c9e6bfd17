package labtest

import "fmt"

// Numbers returns a table of SQL with the numbers n from 1 to count, of which there are a million
// at most. A recursion of a thousand is the servers' default limit.
func Numbers(count int) string {
	return fmt.Sprintf(`(
		WITH RECURSIVE k AS (SELECT 0 AS k UNION ALL SELECT k + 1 FROM k WHERE k < 999)
		SELECT 1 + low.k + 1000 * high.k AS n FROM k high JOIN k low
		WHERE high.k <= %[1]d DIV 1000 AND low.k + 1000 * high.k < %[1]d
	) numbers`, count)
}
