package coupon_test

import (
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/internal/coupon"
)

// A coupon of which two are on sale from noon for an hour.
func ExampleNew() {
	noon := time.Date(2030, 11, 11, 12, 0, 0, 0, time.UTC)
	c, err := coupon.New(1, " 100 off ", noon, noon.Add(time.Hour), 2, noon.Add(-24*time.Hour))
	fmt.Printf("%q, %d units, %v\n", c.Name, c.Stock, err)

	_, err = coupon.New(1, "100 off", noon, noon, 2, noon)
	invalid, ok := errors.AsType[*coupon.InvalidError](err)
	fmt.Println(ok, invalid.Field, invalid.Message)
	// Output:
	// "100 off", 2 units, <nil>
	// true end_time must be after begin_time
}

// The window includes both of its ends.
func ExampleCoupon_CheckOpen() {
	noon := time.Date(2030, 11, 11, 12, 0, 0, 0, time.UTC)
	c, err := coupon.New(1, "100 off", noon, noon.Add(time.Hour), 2, noon)
	if err != nil {
		panic(err)
	}
	fmt.Println(c.CheckOpen(noon.Add(-time.Minute)))
	fmt.Println(c.CheckOpen(noon))
	fmt.Println(c.CheckOpen(noon.Add(61 * time.Minute)))
	c.Stock = 0
	fmt.Println(c.CheckOpen(noon))
	// Output:
	// coupon: not started before 2030-11-11T12:00:00Z
	// <nil>
	// coupon: ended
	// coupon: sold out
}
