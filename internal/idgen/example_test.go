package idgen_test

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab/labtest"
)

// Two instances share the counter of a day, and so never give the same id.
func ExampleWorker_Next() {
	rdb, stop := labtest.ExampleRedis()
	defer stop()
	a, b := idgen.New(rdb, "order"), idgen.New(rdb, "order")

	first, err := a.Next(context.Background())
	if err != nil {
		panic(err)
	}
	second, err := b.Next(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(first != second)
	fmt.Println(second > 1<<53, "(so JSON must carry it as a string)")
	// Output:
	// true
	// true (so JSON must carry it as a string)
}

func ExampleParse() {
	parts, err := idgen.Parse(120347448945147905)
	if err != nil {
		panic(err)
	}
	fmt.Println(parts.Time.Format(time.RFC3339), parts.Sequence)
	// Output: 2026-11-21T07:29:34Z 1
}
