package main

import "context"

var peers = []string{"bsm redislock", "redsync", "rueidislock"}

const contenders = 4 // processes

func (b *bench) lockSection(ctx context.Context) error { return nil }
