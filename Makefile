# The one place that knows how perstack is built and checked. It needs Go and make;
# with a C compiler the tests also run under the race detector.

GOLANGCI_VERSION := v2.12.2
GOLANGCI         := .tools/bin/golangci-lint-$(GOLANGCI_VERSION)
FUZZTIME         ?= 10s

# Whatever the race detector does not watch is compiled in one way, that of the program for
# users: what one target has compiled, the others find in Go's cache.
STATIC := CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -trimpath"

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help build quick npm test conformance cases test-wire test-embed test-root sweep rewind ollama check cross race race-sample lint fuzz fuzz-some bench demo clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## build bin/perstack and bin/perstackd: static files, no paths of this machine inside
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/perstack ./cmd/perstackd

# What you run while you work: no race detector, tests that take long leave themselves out
# (testing.Short), and so do the packages that start many programs or containers.
SLOW := /(test|bench|internal/testkit|internal/packages|internal/runtimes/docker|internal/cli/egress)(/|$$)
quick: ## vet, and the unit tests that are fast
	$(STATIC) go vet ./...
	$(STATIC) go test -short -vet=off $$(go list ./... | grep -vE '$(SLOW)')

test: check cross race conformance cases test-wire test-embed race-sample ## run everything that needs neither root nor a linter

# The tests run real MCP servers from npm, offline. What they need is fetched here, once.
npm: .tools/npm/registry ## fetch the real MCP servers that tests run against (needs npm and a network)
.tools/npm/registry: test/npm/install.sh $(wildcard test/npm/*.json test/npm/runtime/*.json)
	test/npm/install.sh

# What is compiled for other systems never runs here: without optimisation it takes a third
# less time.
COMPILE_ONLY := -gcflags='all=-N -l'

# The vet for other systems compiles code that no test on this machine builds: the
# workspace and the sandbox have files for each system.
check: ## check formatting, and vet for Linux, macOS and Windows
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change these files (run gofmt -w .):"; echo "$$unformatted"; exit 1; fi
	$(STATIC) go vet -tags root ./...
	GOOS=darwin go vet $(COMPILE_ONLY) ./...
	GOOS=windows go vet $(COMPILE_ONLY) ./...

# Linking finds what vet does not: the program, and the tests of the packages that have
# files for each system.
CROSS := ./internal/workspace ./internal/sandbox ./internal/skills/base ./store/file ./internal/cli/host
cross: ## build the programs and their tests for macOS and Windows
	@for system in darwin windows; do \
		echo "GOOS=$$system go build, go test -c"; \
		for program in ./cmd/perstack ./cmd/perstackd; do GOOS=$$system go build $(COMPILE_ONLY) -o /dev/null $$program || exit 1; done; \
		for package in $(CROSS); do GOOS=$$system go test -c $(COMPILE_ONLY) -o /dev/null $$package || exit 1; done; \
	done

# The longest packages come first: the others run beside them. Vet is left out because
# check runs it. Without the variable each process that is watched would sleep
# for a second before it ends.
FIRST := ./test/docker ./test ./internal/packages ./internal/runtimes/docker ./test/sweep ./internal/skills
RACE  := GORACE=atexit_sleep_ms=0 go test -race -vet=off -count=1 -timeout 30m

# Packages that try very many cases, or the same in very many rounds. The race detector sees
# a sample of them (-short); conformance and cases try all of them without it.
TABLES  := ./engine ./internal/lockfile ./internal/manifest ./internal/secret ./internal/workspace ./store/file
SAMPLED := $(TABLES) ./internal/providers

# The rules read source code, one file after another: the race detector would see nothing, and
# take minutes.
WHOLE := $(TABLES) ./internal/rules
MODULE  := $(shell sed -n 's/^module //p' go.mod)

# Go turns cgo off by itself where there is no C compiler. That is fine for a user,
# but a check that CI leaves out would never be missed.
race:
	@if [ "$$(go env CGO_ENABLED)" = 1 ]; then \
		echo "go test -race ./..."; \
		$(RACE) $(FIRST) $$(go list ./... | grep -vxF $(foreach p,$(SAMPLED) ./internal/rules,-e $(p:./%=$(MODULE)/%))); \
	elif [ -n "$$CI" ]; then \
		echo "make test: CI needs a C compiler for the race detector; install gcc"; exit 1; \
	else \
		echo "go test ./...   (no C compiler: without the race detector)"; go test ./...; \
	fi

# A target of its own, so that CI can run it beside the others. Without a C compiler, race
# has run these packages already.
race-sample:
	@if [ "$$(go env CGO_ENABLED)" = 1 ]; then echo "go test -race -short $(SAMPLED)"; $(RACE) -short $(SAMPLED); fi

cases: ## try every case of which the race detector sees a sample
	$(STATIC) go test -vet=off -count=1 -timeout 20m $(WHOLE)

# Under the race detector the cases of very many bytes are left out; here they are not. It
# prints the table of all providers and cases.
conformance: ## hold every provider to every promise of a model, and print the table
	@out=$$($(STATIC) go test -vet=off -count=1 -timeout 20m -v -run 'TestConformance$$' ./internal/providers 2>&1); code=$$?; \
	echo "$$out" | grep -vE '^ *(=== |--- (PASS|SKIP))'; exit $$code

# A module of its own: the SDKs that it is held against stay out of go.mod.
test-wire: ## hold the wires and the scripted server against the providers' own SDKs
	cd test/wire && $(STATIC) go vet ./... && $(STATIC) go test -vet=off ./...

# A module of its own, which cannot import internal packages.
test-embed: ## use the API as another module does
	cd test/embed && $(STATIC) go vet ./... && $(STATIC) go test -vet=off ./...

# Only the packages with such tests are compiled: a second build of everything buys nothing.
test-root: ## run the tests that need root (build tag root, names TestRoot...)
	@if [ "$$(id -u)" != 0 ]; then echo "make test-root: these tests need root; run it as root"; exit 1; fi
	@packages=$$(grep -rl --include='*_test.go' '^//go:build.*\<root\>' . | xargs -r -n1 dirname | sort -u); \
	if [ -z "$$packages" ]; then echo "no test needs root"; exit 0; fi; \
	echo "go test -tags root -run '^TestRoot'" $$packages; $(STATIC) go test -vet=off -tags root -run '^TestRoot' $$packages

# Under the race detector the sweep takes samples; this one leaves nothing out, and sees
# that the sweep would notice.
sweep: ## kill jobs at every failpoint, resume them, and count what is lost or done twice
	$(STATIC) go test -vet=off -count=1 -timeout 30m -v ./test/sweep

# make test tries some of the cases.
rewind: ## let jobs and a user change files in random ways, take that back, and compare every file
	@out=$$(PERSTACK_REWIND_CASES=150 $(STATIC) go test -vet=off -count=1 -timeout 30m -v -run 'TestRandomWork$$' ./test/rewind 2>&1); code=$$?; \
	if [ $$code = 0 ]; then echo "$$out" | grep Steps; else echo "$$out"; fi; exit $$code

# Not part of CI: the server takes minutes to build, and needs a C++ compiler.
ollama: .tools/ollama/ollama ## run Experts on a real Ollama server with tiny models (the first time, build it: minutes)
	$(STATIC) PERSTACK_OLLAMA=$(CURDIR)/$< go test -vet=off -count=1 -v -tags ollama -run TestOllama ./test

.tools/ollama/ollama: test/ollama/build.sh
	test/ollama/build.sh

lint: $(GOLANGCI) ## run the linters of .golangci.yml (the first time, build them: minutes)
	$(STATIC) $(GOLANGCI) run ./...

$(GOLANGCI):
	$(STATIC) GOBIN=$(CURDIR)/.tools/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv .tools/bin/golangci-lint $@

# To make an input smaller takes up to a minute otherwise, and a target that works on the
# disk would do little else.
fuzz: ## run every fuzz target for FUZZTIME (10s); make test runs their seeds
	@grep -r --include='*_test.go' '^func Fuzz' . | sed -E 's,^(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*).*,\1 \2,' | sort | \
	while read -r package target; do \
		echo "$$package $$target"; \
		$(STATIC) go test -vet=off -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x "$$package" || exit 1; \
	done

# In CI each run takes a tenth of the targets, another one with each commit.
fuzz-some: ## run a tenth of the fuzz targets for three seconds each
	@turn=$$(( $$(git rev-list --count HEAD) % 10 )); \
	grep -r --include='*_test.go' '^func Fuzz' . | sed -E 's,^(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*).*,\1 \2,' | sort | awk "NR % 10 == $$turn" | \
	while read -r package target; do \
		echo "$$package $$target"; \
		$(STATIC) go test -vet=off -run '^$$' -fuzz "^$$target\$$" -fuzztime 3s -fuzzminimizetime 1x "$$package" || exit 1; \
	done

bench: ## measure the promises of SPECIFICATION.md, and run the benchmarks
	$(STATIC) go run ./bench
	$(STATIC) go test -vet=off -run '^$$' -bench . -benchmem ./store/file

demo: build ## show a run from start to end, without any key
	bin/perstack demo

clean: ## remove what make built; what it fetched into .tools stays
	rm -rf bin
