package main

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// checkLimits returns the numbers and durations that are not within the limits of
// their tags.
func (c config) checkLimits() []settingError {
	var broken []settingError
	v := reflect.ValueOf(c)
	for f := range reflect.TypeFor[config]().Fields() {
		least, greatest, limited := strings.Cut(f.Tag.Get("limits"), "..")
		if !limited {
			continue
		}
		n := number(v.FieldByIndex(f.Index))
		if !(n >= limit(f, least) && n <= limit(f, greatest)) { // NaN is not
			broken = append(broken, settingError{settingName(f), fmt.Sprintf("must be %s to %s", least, greatest)})
		}
	}
	return broken
}

// number returns the value of a field that has limits; a duration's is in
// nanoseconds.
func number(v reflect.Value) float64 {
	if v.CanFloat() {
		return v.Float()
	}
	return float64(v.Int())
}

// limit parses a limit of a field. It panics if the tag is malformed.
func limit(f reflect.StructField, text string) float64 {
	if f.Type == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		if err != nil {
			panic(err)
		}
		return float64(d)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return n
}
