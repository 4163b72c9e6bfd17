package rig

import (
	"fmt"
	"os"
)

// Quick reports whether the setting of that name asks for a shorter run. It returns an error
// if that asks for something else.
func Quick(name string) (bool, error) {
	mode := os.Getenv(name)
	if mode != "" && mode != "quick" {
		return false, fmt.Errorf("%s=%s: want quick, or nothing", name, mode)
	}
	return mode == "quick", nil
}
