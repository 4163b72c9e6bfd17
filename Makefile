# The commands of this repository. Each installs or builds what it needs, starts
# its servers as private child processes, and stops them at its end.

K6 := bin/k6
SCHEMATHESIS := bin/schemathesis/bin/schemathesis
KUBERNETES_VALIDATE := bin/kubernetes-validate/bin/kubernetes-validate
FUZZTIME ?= 30s
# What one clone has compiled with -trimpath, another need not compile again. All
# commands have the flag, so that they share what vet, tests and binaries need.
export GOFLAGS := $(shell go env GOFLAGS 2>/dev/null) -trimpath
# Tests often wait for servers, so labtest runs more of a package at a time than there are
# cores. With more packages than cores on top of that, the time-outs that tests wait for
# would be measured on a machine that is late. By default a binary with the race
# detector sleeps for a second before it ends, which adds up.
PACKAGES := $(shell getconf _NPROCESSORS_ONLN)
# Flushing to a disk is half of the work of the tests' servers, whose data need not outlive the
# machine: a directory in memory, if it has 5 GB and may have executables.
MEMORY = $(shell grep -qs ' /dev/shm .*noexec' /proc/mounts || df -Pk /dev/shm 2>/dev/null | awk '$$6 == "/dev/shm" && $$4 > 5e6 { print $$6 }')
SOURCES := $(shell find . -path ./bin -prune -o -path ./out -prune -o -path ./examples -prune -o \( -name '*.go' -o -name '*.lua' -o -name '*.c' -o -name '*.sql' -o -name '*.tmpl' -o -path './loadtest/experiments/race/page/*' \) -print) go.mod go.sum

# A benchmark runs COUNT times: benchstat's intervals need six. What it compares is measured in
# turns within each.
COUNT := $(if $(filter quick,$(BENCH)),2,6)
BENCHMARKS := go test -run '^$$' -benchtime 1x -count $(COUNT) -timeout 3h ./loadtest/measurements/bench
LOCK_BENCHMARKS := go test -C loadtest/measurements/bench/peers -run '^$$' -count $(COUNT) -timeout 1h .
COMPARED ?= Claim|Growth
# The benchmarks of CLUSTER=groups and CLUSTER=shards.
MEASURED_groups := Groups
MEASURED_shards := Shards

.PHONY: load help demo race up test-unit test fuzz judge demo-jmeter pview topologies cluster generations faults holders soak linearizable bench compare docs lint interop mutants model schemathesis compose-test install go

help:
	@awk -v width="$${COLUMNS:-$$({ stty size </dev/tty | cut -d' ' -f2; } 2>/dev/null)}" -f tools/help.awk $(MAKEFILE_LIST)

##@ First steps

demo: install bin/api bin/loadtest $(K6) ## prove the promises with k6 and print one table; out/demo/proof.json
	@bin/loadtest demo

race: install bin/api bin/loadtest ## watch two races for a coupon side by side in the browser, live
	@deploy/install.sh locks
	@bin/loadtest race

up: install bin/api bin/loadtest ## run the service in the foreground, with one coupon on sale; LAB=true takes LOCK, LOCK_SCOPE, COMMIT and GUARDS_OFF, and serves the page views
	@deploy/install.sh locks
	@bin/loadtest up

test-unit: go ## run the tests that need no server, within a minute
	@mkdir -p out
	@go test -short -v ./... >out/test-unit.txt 2>&1 || { grep -vE '^(=== |PASS|ok )|no test files|--- (PASS|SKIP)|-short excludes' out/test-unit.txt; exit 1; }
	@echo "$$(grep -c '^ *--- PASS' out/test-unit.txt) tests passed, $$(grep -c '^ *--- SKIP' out/test-unit.txt) skipped; out/test-unit.txt has the reasons, make test runs all"

test: go bin/actionlint ## run all tests against real servers, gofmt, vet and staticcheck
	@deploy/install.sh servers locks clock network tests cluster postgresql
	@unformatted=$$(gofmt -l .) && test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	go vet ./...
	cd loadtest/measurements/bench/peers && go vet ./...
	go tool staticcheck ./...
	bin/actionlint .github/workflows/*.yml
	TMPDIR=$${TMPDIR:-$(or $(MEMORY),/tmp)} GORACE=atexit_sleep_ms=0 go test -vet=off -race -shuffle=on -count=1 -p=$(PACKAGES) ./...
	cd deploy/compose && go vet ./... && go test -count=1 ./...
	cd deploy/kubernetes && go vet ./... && go test -count=1 ./...

fuzz: go ## run every fuzz target for FUZZTIME (30s); what is found is stored in testdata/fuzz
	@deploy/install.sh servers tests && mkdir -p out
	@grep -r --include='*_test.go' '^func Fuzz' cmd internal | sed 's|^\(.*\)/[^/]*:func \(Fuzz[A-Za-z0-9]*\).*|\1 \2|' | sort | while read -r package target; do \
		echo "$$package $$target"; \
		go test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=5s ./$$package >out/fuzz.txt 2>&1 || { cat out/fuzz.txt; exit 1; }; \
	done

##@ Load tests and experiments

judge: bin/loadtest $(K6) ## send every workload to anybody's shop, which the file SHOP describes, and say which promises it kept: out/judge/report.html; WORKLOADS=one-user,crowd
	@deploy/install.sh jmeter
	@bin/loadtest judge

load: bin/loadtest $(K6) ## judge this service at BASE_URL with k6 (and JWT_SECRET, or ADMIN_TOKEN and TOKENS)
	@SHOP=$${SHOP:-examples/shops/flashsale.yml} WORKLOADS=$${WORKLOADS:-k6-one-user,k6-many-users,k6-seven-each} bin/loadtest judge

demo-jmeter: install bin/api bin/loadtest ## run the demo with JMeter, without its window
	@deploy/install.sh jmeter
	@bin/loadtest jmeter

pview: install bin/api bin/loadtest $(K6) ## count 666 concurrent page views under every lock; out/pview/pview.json
	@deploy/install.sh locks jmeter
	@bin/loadtest pview

topologies: install bin/api bin/loadtest $(K6) ## claim and count on every Redis topology, with failovers; out/topologies/topologies.json
	@bin/loadtest topologies

cluster: install bin/api bin/loadtest $(if $(filter vitess shards,$(CLUSTER)),bin/vitess) ## sell on a database that is replicated or a cluster, and kill, freeze and cut off its nodes; CLUSTER=quick is shorter; out/cluster/cluster.json; CLUSTER=groups measures what three members cost, as benchmarks in out/bench/Groups.txt; CLUSTER=vitess sells on two shards, and CLUSTER=shards measures what they add, in out/bench/Shards.txt: both need MySQL in LAB_MYSQLD
	@deploy/install.sh network cluster clock locks
	@$(if $(MEASURED_$(CLUSTER)),$(MAKE) --no-print-directory bench ONLY=$(MEASURED_$(CLUSTER)),bin/loadtest cluster)

generations: install bin/loadtest ## break each generation of the articles' lock, and show that the next one holds
	@deploy/install.sh locks clock
	@bin/loadtest generations

faults: install bin/loadtest bin/bench-peers $(if $(HOLDERS),holders) ## try every lock under every fault, ours and others'; FAULTS=quick, HOLDERS=true for those in other languages, CELL=redislock/keys-deleted, AT_RANDOM=10m, LOCK='./my-holder' BACKEND=redis; out/faults/report.html
	@deploy/install.sh locks clock network
	@bin/loadtest faults

# The holders of examples/holders, which make faults tries once they are built.
holders:
	@deploy/install.sh interop python node
	@python3 -m venv examples/holders/python/.venv
	@examples/holders/python/.venv/bin/pip install -q -r examples/holders/python/requirements.txt
	@cd examples/holders/node && npm ci --silent
	@mvn -q -B -f examples/holders/java/pom.xml dependency:copy-dependencies compile

soak: install bin/api bin/loadtest ## mix claims for minutes while every part is killed, suspended and partitioned in turn; SOAK=60s is shorter
	@bin/loadtest soak

linearizable: install bin/api bin/loadtest ## check histories under faults for linearizability, on twelve seeds, and catch four mutants; SEEDS=50 is longer; out/linearizable/linearizable.json
	@deploy/install.sh locks
	@bin/loadtest linearizable

bench: install bin/api bin/loadtest ## run all benchmarks, and print headline figures beside their limits; BENCH=quick is shorter, ONLY=Crowd or ONLY=Wait runs some; out/bench/bench.txt
	@mkdir -p out/bench
	@{ $(BENCHMARKS) -bench '$(or $(ONLY),.)'; $(LOCK_BENCHMARKS) -bench '$(or $(ONLY),.)'; } 2>&1 | tee out/bench/$(or $(ONLY),bench).txt
	@! grep -q '^FAIL' out/bench/$(or $(ONLY),bench).txt
	@$(if $(ONLY),,bin/loadtest bench)

compare: install bin/api bin/loadtest ## compare the service with that of another commit by benchstat, as in make compare BEFORE=HEAD~10; COMPARED=Claim chooses benchmarks
	@test -n "$(BEFORE)" || { echo "make compare needs BEFORE=, a commit"; exit 2; }
	@rm -rf out/before && mkdir -p out/before && git archive $(BEFORE) | tar -x -C out/before
	@cd out/before && go build -o $(CURDIR)/bin/api-before ./cmd/api
	@rm -rf out/before out/compare && mkdir -p out/compare
	@turns="api-before api"; for turn in $$(seq $(COUNT)); do for api in $$turns; do echo "turn $$turn of $(COUNT): $$api"; \
		API=$$api $(BENCHMARKS) -count 1 -bench '$(COMPARED)' >>out/compare/$$api.txt 2>&1 || { cat out/compare/$$api.txt; exit 1; }; \
	done; turns="$${turns#* } $${turns%% *}"; done
	@go tool benchstat -ignore commit,date out/compare/api-before.txt out/compare/api.txt

docs: bin/loadtest ## write docs/benchmarks.md and all quoted figures from the last make bench and from docs/runs, docs/faults.md from the last whole make faults, and docs/settings.md; PICTURES=true runs a race in Chromium for that of the READMEs
	@bin/loadtest docs
	@bin/loadtest faults-docs
	@go test -count=1 -run '^TestSettingsPageIsGenerated$$' ./cmd/api -short -write
	@go test -count=1 -run '^TestPagesQuoteRuns$$' . -write
	@$(if $(PICTURES),deploy/install.sh servers locks tests && go test -count=1 -run '^TestFirstPressOfStartShowsTheRace$$' ./loadtest/experiments/race -write)

##@ Checks and tools

lint: go bin/golangci-lint bin/actionlint $(KUBERNETES_VALIDATE) ## run golangci-lint (.golangci.yml) and actionlint, build for macOS, compare the manifests of Kubernetes with its schemas, and build each commit of RANGE=a..b
	GOOS=darwin go build ./...
	@bin/golangci-lint run ./...
	@cd loadtest/measurements/bench/peers && $(CURDIR)/bin/golangci-lint run ./...
	@cd deploy/compose && $(CURDIR)/bin/golangci-lint run ./...
	@cd deploy/kubernetes && $(CURDIR)/bin/golangci-lint run ./...
	@bin/actionlint .github/workflows/*.yml
	@rm -rf out/manifests && mkdir -p out/manifests
	@deploy/kubernetes/build.sh $(CURDIR)/out/manifests >out/manifests/manifests.yml
	@$(KUBERNETES_VALIDATE) --strict --no-warn -k 1.30 -k 1.37 out/manifests/manifests.yml
	@$(if $(RANGE),tools/each-commit.sh $(RANGE))

interop: go bin/api bin/loadtest $(K6) ## share locks with the real Redisson and the real Curator, in both directions, judge shops in Java and Node and a real Vendure, count events in Python, and run two rows of the demo
	@deploy/install.sh servers locks network tests interop node python postgresql
	@INTEROP=1 go test -count=1 -timeout 10m -v -run '^TestInterop$$' ./internal/lock/interop/
	@INTEROP=1 go test -count=1 -timeout 10m -v -run '^TestShop' ./loadtest/judge/
	@SHOP=examples/shops/vendure/shop.yml WORKLOADS=coupon-of-2,last-unit bin/loadtest judge
	@SHOP=examples/shops/hold.yml bin/loadtest judge
	@GUARDS_OFF=end SHOP=examples/shops/hold.yml bin/loadtest judge
	@INTEROP=1 go test -count=1 -timeout 10m -v -run '^TestDemo' ./loadtest/experiments/demo/
	@python3 -m venv bin/redis-py && bin/redis-py/bin/pip install -q -r examples/holders/python/requirements.txt
	@INTEROP=1 PYTHON=$(CURDIR)/bin/redis-py/bin/python go test -count=1 -v ./examples/consumer/

mutants: install ## break the service in one place after the other, and see a test fail for each
	@deploy/install.sh locks tests
	@go test -tags mutants -count=1 -timeout 120m -run '^Test(MutantsDie|WithoutADefectTheTestsPass)$$' -v .

model: go ## check the models of lease, RedLock, claim and transfer with Spin, and that each of their clauses is needed
	@deploy/install.sh model
	@MODEL=1 go test -count=1 -timeout 10m ./docs/model/

schemathesis: install bin/api bin/loadtest $(SCHEMATHESIS) ## compare the service with its OpenAPI document by 20,000 generated requests; EXAMPLES=20 is shorter
	@bin/loadtest schemathesis

compose-test: ## run docker-compose.yml in every form, with claims; exits with 3 where there is no Docker engine
	@deploy/compose/test.sh

install:
	@deploy/install.sh servers

go:
	@deploy/install.sh go

bin/api: $(SOURCES) | go
	@echo "building $@"
	@go build -o $@ ./cmd/api

bin/loadtest: $(SOURCES) | go
	@echo "building $@"
	@go build -o $@ ./loadtest

bin/bench-peers: $(SOURCES) loadtest/measurements/bench/peers/go.sum | go
	@echo "building $@"
	@cd loadtest/measurements/bench/peers && go build -o $(CURDIR)/$@ .

$(K6): loadtest/k6/build/go.mod | go
	@echo "building k6, once: one to three minutes"
	@cd loadtest/k6/build && go build -ldflags='-s -w' -o $(CURDIR)/$@ go.k6.io/k6
	@touch $@

bin/vitess: loadtest/vitess/go.mod | go
	@test -n "$(LAB_MYSQLD)" || { echo "Vitess needs MySQL 8.0 or later, which LAB_MYSQLD may name"; exit 2; }
	@echo "building Vitess, once: three to six minutes"
	@cd loadtest/vitess && go build -ldflags='-s -w' -o $(CURDIR)/$@.new/ $(addprefix vitess.io/vitess/go/cmd/,vtgate vttablet vtorc vtctld vtctldclient)
	@rm -rf $@ && mv $@.new $@ && touch $@ # an interrupted build leaves no part of it in its place

$(SCHEMATHESIS): tools/schemathesis/requirements.txt
	@deploy/install.sh python
	@echo "installing schemathesis, once"
	@python3 -m venv --clear bin/schemathesis
	@bin/schemathesis/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r tools/schemathesis/requirements.txt
	@touch $@

$(KUBERNETES_VALIDATE): tools/kubernetes-validate/requirements.txt
	@deploy/install.sh python
	@echo "installing kubernetes-validate, once"
	@python3 -m venv --clear bin/kubernetes-validate
	@bin/kubernetes-validate/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r tools/kubernetes-validate/requirements.txt
	@touch $@

bin/golangci-lint: tools/golangci-lint/go.mod | go
	@echo "building golangci-lint, once: one to four minutes"
	@cd tools/golangci-lint && go build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

bin/actionlint: tools/actionlint/go.mod | go
	@echo "building actionlint, once"
	@cd tools/actionlint && go build -o $(CURDIR)/$@ github.com/rhysd/actionlint/cmd/actionlint
	@touch $@

bin/govulncheck: tools/govulncheck/go.mod | go
	@echo "building govulncheck, once"
	@cd tools/govulncheck && go build -o $(CURDIR)/$@ golang.org/x/vuln/cmd/govulncheck
	@touch $@
