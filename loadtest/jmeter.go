package main

import "context"

func demoJMeter(ctx context.Context) error { return nil }
