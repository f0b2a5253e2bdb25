# Everything a developer or CI runs. `make help` lists it.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

export GOFLAGS     ?= -buildvcs=false
export GOTOOLCHAIN ?= local
export GOWORK      := off

OUTPUT  := _output
HARNESS := $(OUTPUT)/harness
LINTER  := $(OUTPUT)/golangci-lint

# The modules with code of our own. Others only pin tools.
MODULES := . cluster cluster/function cluster/argocd

# What pkgtool is made of takes minutes to compile, and more to lint. With these
# flags its tests take what the harness has compiled already.
PKGTOOL    := cluster/crossplane/pkgtool
IN_PKGTOOL := cd $(PKGTOOL) && CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false -gcflags=all=-dwarf=false'

# The linter's cache remembers findings by a file's content with the path it had
# then: shared between two clones it reports the other clone's files and cannot
# read their nolint comments. Every clone keeps its own.
export GOLANGCI_LINT_CACHE := $(CURDIR)/$(OUTPUT)/lint-cache

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: harness
harness: ## Build the program that starts and stops test clusters.
	@go build -C cluster -o $(CURDIR)/$(HARNESS) ./cmd/harness

.PHONY: build
build: ## Build the provider into _output, stamped with the commit where git knows it.
	CGO_ENABLED=0 go build -trimpath -buildvcs=$(if $(shell git rev-parse --verify --quiet HEAD 2>/dev/null),true,false) -ldflags="-s -w" -o $(OUTPUT)/provider-finops ./cmd/provider

.PHONY: image
image: harness ## Build the container image without Docker (OUT=file, ARCH=arm64) and print its digest.
	@$(HARNESS) image $(if $(OUT),-o $(OUT)) $(if $(ARCH),--arch $(ARCH))

.PHONY: dev
dev: harness ## Keep a cluster with the product in it, which is built and restarted when files change.
	@$(HARNESS) dev

.PHONY: node
node: harness ## Keep a cluster with a real node and the image on it (as root).
	@$(HARNESS) node

.PHONY: package
package: harness ## Build the Crossplane package with its image in it: _output/provider-finops-ARCH.xpkg (ARCH=arm64).
	@$(HARNESS) package $(if $(ARCH),--arch $(ARCH))

.PHONY: crossplane
crossplane: harness ## Keep a cluster with Crossplane and the package on it.
	@$(HARNESS) crossplane

.PHONY: demo
demo: harness ## Run the whole product once, from nothing to a bill (KEEP=1 leaves it running).
	@$(HARNESS) demo $(if $(KEEP),--keep)

.PHONY: generate
generate: ## Regenerate what is generated: deepcopy and CRDs.
	go generate ./apis

.PHONY: verify
verify: generate ## Regenerate and fail if anything differs from what is committed; check module files.
	@test -z "$$(git status --porcelain -- apis package/crds)" || { git --no-pager diff -- apis package/crds; git status --porcelain -- apis package/crds; echo "generated files are out of date: run 'make generate' and commit"; exit 1; }
	@for m in $(MODULES) $(PKGTOOL); do (cd $$m && go mod tidy -diff && go mod verify >/dev/null); done

.PHONY: lint
lint: ## Lint all code, with the import rules of the design.
	@go build -C cluster/lint -trimpath -gcflags=all=-dwarf=false -ldflags="-s -w" -o $(CURDIR)/$(LINTER) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@for m in $(MODULES); do (cd $$m && $(CURDIR)/$(LINTER) run --allow-parallel-runners --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: test
test: harness ## Run every test: unit, API server, PostgreSQL, and the kuttl stories; as root also those of the node.
	@$(HARNESS) with --assets --postgres -- go test ./...
	@for m in $(filter-out .,$(MODULES)); do go test -C $$m -count=1 -timeout=30m ./...; done # Old results do not count: they read examples and stories, which Go does not see from there.
	@$(IN_PKGTOOL) go test ./...
	@$(HARNESS) e2e --on=controlplane
	@if [ "$$(id -u)" = 0 ]; then $(MAKE) --no-print-directory e2e-node; else echo "not root: the stories of the node are left out, run 'sudo make e2e-node'"; fi

.PHONY: test-fast
test-fast: ## Run the tests that need no server, for the inner loop.
	go test ./internal/finops/... ./internal/clients/opencost/...

.PHONY: e2e
e2e: harness ## Run the kuttl stories (SUITE=name, ON=controlplane|node|named, STORIES=folder).
	@$(HARNESS) e2e $(if $(ON),--on=$(ON)) $(if $(STORIES),--stories=$(STORIES)) $(if $(SUITE),--suite=$(SUITE))

.PHONY: e2e-node
e2e-node: SUITE ?= node,anywhere,package/as-a-pod,tenant/deletions
e2e-node: harness ## Run the stories of pods on a real node, and some of the others there (as root; SUITE=name).
	@$(HARNESS) e2e --on=node --suite=$(SUITE)

.PHONY: bench
bench: harness ## Measure the goals against limits of the same run (ONLY=P1,P3 and SCALE=0.1 choose).
	@$(HARNESS) with --assets --postgres --fsync -- go run ./cmd/bench $(if $(ONLY),--only $(ONLY)) $(if $(SCALE),--scale $(SCALE))

.PHONY: bench-docs
bench-docs: ## Put the last report of make bench into docs/performance.md.
	go run ./cmd/bench --document docs/performance.md

.PHONY: faults
faults: harness ## Run the tests of what goes wrong (docs/design/faults.md), with more bad days, crashes and patience than usual.
	@grep -oE '`(internal|cmd)/[a-z/]+: Test[A-Za-z]+`' docs/design/faults.md | tr -d '`' | sort -u | \
		awk -F': ' '{ t[$$1] = t[$$1] (t[$$1] ? "|" : "") $$2 } END { for (p in t) print "./" p, "-run=^(" t[p] ")$$" (p ~ /faults$$/ ? " -seeds=5 -rest=3000 -crowd=3000" : p ~ /jobs.(allocation|charge)$$/ ? " -every=1" : p ~ /provider$$/ ? " -every=3" : "") }' > $(OUTPUT)/faults
	@$(HARNESS) with --assets --postgres -- bash -c 'while read -r args; do set -f; echo "go test $$args"; go test -count=1 -timeout=30m $$args </dev/null || exit; done < $(OUTPUT)/faults'

.PHONY: mutants
mutants: harness ## Make the product wrong in many small ways, and have its tests notice each (ONLY=text chooses).
	@$(HARNESS) with --assets --postgres -- go run ./cmd/mutants $(if $(ONLY),--only "$(ONLY)")

FUZZTIME ?= 1m

.PHONY: fuzz
fuzz: ## Feed the parsers with what nobody thought of (FUZZTIME=5s for each of them).
	@grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z]+' internal | while IFS=: read -r file fuzz; do \
		go test -run='^$$' -fuzz="^$${fuzz#func }$$" -fuzztime=$(FUZZTIME) "./$$(dirname "$$file")" || exit; done

.PHONY: clean
clean: ## Remove what was built here (the cache outside the repository stays).
	rm -rf $(OUTPUT)
