// Vitess is built from a module of its own: its four hundred requirements are not the
// service's.
module example.com/flashsale/loadtest/vitess

go 1.26.8

require (
	github.com/spf13/pflag v1.0.10 // indirect
	vitess.io/vitess v0.24.4 // indirect
)
