# An index of commands that could be typed as well. `make demo` and `make test`
# work on a fresh machine; everything they start is private and ends with them.

K6 := bin/k6
SOURCES := $(shell find . -path ./bin -prune -o -path ./out -prune -o \( -name '*.go' -o -name '*.lua' -o -name '*.sql' -o -name '*.tmpl' \) -print) go.mod go.sum

.PHONY: docs pview topologies generations help install demo test up load demo-jmeter bench soak interop

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: ## install what is missing: servers, nginx (apt or brew)
	@deploy/install.sh servers

demo: install bin/api bin/loadtest $(K6) ## prove the promises: experiments with k6, one table, out/demo/proof.json
	@bin/loadtest demo

demo-jmeter: install bin/api bin/loadtest ## the same with JMeter, without a display
	@deploy/install.sh jmeter
	@bin/loadtest jmeter

generations: install bin/loadtest ## each generation of the articles' lock under the fault that breaks it, and the next one under the same
	@bin/loadtest generations

pview: bin/api bin/loadtest $(K6) ## 666 page views at once under every lock: which of them count all; out/pview/pview.json
	@deploy/install.sh servers jmeter
	@bin/loadtest pview

topologies: install bin/api bin/loadtest $(K6) ## claims and page views on every Redis topology, with failovers; out/topologies/topologies.json
	@bin/loadtest topologies

up: install bin/api bin/loadtest ## the private stack in the foreground, with one coupon on sale
	@bin/loadtest up

load: bin/loadtest $(K6) ## k6 against BASE_URL (and JWT_SECRET, or ADMIN_TOKEN and TOKENS)
	@bin/loadtest load

bench: bin/api bin/loadtest bin/bench-peers ## measure everything side by side, out/bench/bench.json; BENCH=quick for a short look
	@deploy/install.sh servers bench
	@bin/loadtest bench

docs: bin/loadtest ## docs/benchmarks.md from the last full run of bench, or again from docs/benchmarks.json
	@bin/loadtest docs

soak: install bin/api bin/loadtest ## minutes of mixed claims while everything is killed in turn, audited throughout; SOAK=60s for a short one
	@bin/loadtest soak

test: ## formatting, vet, staticcheck, and all tests against private real servers
	@deploy/install.sh servers tests
	@unformatted=$$(gofmt -l .) && test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	go vet ./...
	cd loadtest/bench/peers && go vet ./...
	go tool staticcheck ./...
	go test -race -shuffle=on -count=1 ./...
	cd deploy/compose && go vet ./... && go test -count=1 ./...

interop: ## locks shared with the real Redisson, both ways
	@deploy/install.sh servers interop
	@INTEROP=1 INTEROP_JSON=$(CURDIR)/out/interop/interop.json go test -count=1 -timeout 10m -v -run '^TestInterop$$' ./internal/lock/redisson/

bin/api: $(SOURCES)
	@echo "building $@"
	@go build -trimpath -o $@ ./cmd/api

bin/loadtest: $(SOURCES)
	@echo "building $@"
	@go build -trimpath -o $@ ./loadtest

bin/bench-peers: $(SOURCES) loadtest/bench/peers/go.sum
	@echo "building $@"
	@cd loadtest/bench/peers && go build -trimpath -o $(CURDIR)/$@ .

$(K6): loadtest/k6/build/go.mod
	@echo "building k6, once: one to three minutes"
	@cd loadtest/k6/build && go build -trimpath -ldflags='-s -w' -o $(CURDIR)/$@ go.k6.io/k6
	@touch $@
