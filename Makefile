# Targets are listed by `make help`.
GO        ?= go
LINT      := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME  ?=
SIM       ?= 1520
KILLS     ?= 50
WEEKS     ?= 4
export CGO_ENABLED ?= 0

SHELL := /bin/bash
.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/corewait
	$(GO) build -trimpath -o bin/corewait ./cmd/corewait

.PHONY: demo
demo: build ## run the service on the reference case, and serve until Ctrl-C
	@.ci/demo

.PHONY: generate
generate: ## make the Go code of the wire contract (needs buf 1.75)
	buf lint
	buf generate

.PHONY: test
test: ## run all tests; what was skipped is shown, the whole log is out/test.log
	$(GO) vet ./...
	@GO="$(GO)" .ci/test

.PHONY: campaign
campaign: ## kill database and service KILLS times under load, review WEEKS of null and guilty weeks; all counted (needs PostgreSQL; about 25 minutes)
	@set -o pipefail; COREWAIT_KILLS=$(KILLS) $(GO) test -v -count 1 -timeout 2h -p 1 -run KilledUnderLoad ./store ./internal/service | grep -vE '^=== '
	@set -o pipefail; COREWAIT_WEEKS=$(WEEKS) $(GO) test -v -count 1 -timeout 3h -run 'InnocentWeeks|GuiltyWeeks|CostsTheSame' ./review | grep -vE '^=== '

.PHONY: race
race: ## run all tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race ./...

.PHONY: lint
lint: ## run the linters, as CI does
	$(GO) run $(LINT) run ./...

.PHONY: bench
bench: build ## measure against peers and print the ratios (about 8 minutes; duckdb needs a C compiler, load PostgreSQL)
	GO="$(GO)" bench/run

.PHONY: fuzz
fuzz: ## run every fuzz target, an hour in all or FUZZTIME=10s each
	GO="$(GO)" FUZZTIME="$(FUZZTIME)" .ci/fuzz

.PHONY: sim
sim: ## simulate the method's size and power (SIM scenarios) and print the table
	$(GO) run ./internal/sim/table -n $(SIM)
