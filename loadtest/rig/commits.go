package rig

import "example.com/flashsale/internal/order/commit"

// Commits are the values of COMMIT that keep every promise.
var Commits = commits()

func commits() (names []string) {
	for _, s := range commit.Strategies {
		names = append(names, string(s))
	}
	return names
}
