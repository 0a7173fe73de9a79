# ikkai: idempotency for AWS Lambda in Go. `make help` lists what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE := $(CURDIR)/.cache
BIN := $(CACHE)/bin
VENV := $(CACHE)/sam
# A count of inputs; a time such as 1m works too.
FUZZTIME ?= 20000x
# Of the simulation: how many seeds, or the one to replay.
SEEDS ?= 2000
SEED ?= 0
# How much make explore explores: quick, full or deep.
EXTENT ?= full
# Modules of their own, for the sake of what only they depend on.
MODULES := idempotent/otelguard
# The race detector needs cgo, and cgo a C compiler; everything else needs Go only.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

## Use

.PHONY: help
help: ## list the targets
	@awk '/^## /{print "\n" substr($$0, 4)} /^[a-z-]+:.*## /{split($$0, part, ":.*## "); printf "  %-22s %s\n", part[1], part[2]}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## the whole story on the embedded DynamoDB, with real function binaries in AWS's runtime interface emulator
	go run ./cmd/ikkai demo

.PHONY: bench
bench: ## what the toolkit costs beside the bare SDK calls, in one run
	go run ./cmd/ikkai bench

.PHONY: bench-cold
bench-cold: ## what the toolkit adds to a cold start and to the binary, beside the same function written by hand (Linux)
	go run ./cmd/ikkai bench-cold

.PHONY: bench-dynamodb
bench-dynamodb: ## the embedded DynamoDB with a table of 50,000 items beside dynoxide, which cargo builds into .cache (minutes, once)
	.ci/test-dynamodb-local dynoxide bench

.PHONY: demo-recording
demo-recording: ## run the demo and record it in docs/demo.txt
	.ci/record-demo

.PHONY: figures
figures: ## draw the pictures of docs/pictures again
	go run ./internal/pictures

## Test

.PHONY: test
test: ## all tests, in random order, with the race detector where there is a C compiler
	go test $(RACE) -shuffle=on ./...
	for module in $(MODULES); do go -C $$module test $(RACE) -shuffle=on ./...; done
	@$(if $(RACE),:,echo "!!! LEFT OUT: the race detector, which needs a C compiler")

.PHONY: test-dynamodb-local
test-dynamodb-local: ## the store, engine and embedded-DynamoDB suites against DYNAMODB_ENDPOINT, or against DynamoDB Local in Docker
	.ci/test-dynamodb-local

.PHONY: test-independent
test-independent: ## the same against dynoxide, an independent emulator that cargo builds into .cache (minutes, once)
	.ci/test-dynamodb-local dynoxide

.PHONY: test-conformance
test-conformance: ## the embedded DynamoDB, dynoxide and dynalite by a public suite, unedited (needs git, Node 20 with npm, cargo)
	.ci/test-conformance suite dynoxide dynalite

.PHONY: test-dynamo
test-dynamo: ## guregu/dynamo's own tests against the embedded DynamoDB (needs git)
	.ci/test-conformance dynamo

.PHONY: test-clients
test-clients: ## boto3, PynamoDB and the SDK for JavaScript against the embedded DynamoDB (needs git, Node 20 with npm, Python 3.10 with venv)
	.ci/test-conformance clients

.PHONY: test-powertools
test-powertools: ## keys, expressions, items and replays beside the real Powertools packages of npm and PyPI, which it installs (needs Node 20 with npm, and Python 3.10 with venv)
	sh idempotent/powertools/live/setup.sh $(CACHE)/powertools
	POWERTOOLS_LIVE=$(CACHE)/powertools go test ./idempotent/powertools -count=1 -timeout=30m -run Live

.PHONY: test-rollback
test-rollback: ## earlier builds replay, take over and resume what this one stores (needs their commits in the clone)
	.ci/recorded back

.PHONY: explore
explore: ## every interleaving of up to three callers and their faults (three or four minutes; EXTENT=deep has hours)
	GOGC=400 go test ./internal/proof/explore -count=1 -timeout=0 -v -args -explore=$(EXTENT)

.PHONY: simulate
simulate: ## SEEDS random worlds of orders, and of transfers, full of faults in virtual time (default 2000), or every line of those of SEED
	go test ./idempotent -run '^TestNoSeed' -count=1 -timeout=0 -v -args -seeds=$(SEEDS) -seed=$(SEED)

.PHONY: scale
scale: ## docs/scale.md's loads played anew in virtual time, and its pictures drawn from that (minutes)
	go test ./internal/proof/scale -run '^TestThePage' -count=1 -timeout=0 -v -args -write

.PHONY: mutants
mutants: ## the code broken on purpose in many ways, each of which the tests named for it must catch (minutes; RUN=regexp for some)
	go run ./internal/proof/mutants -run '$(RUN)'

.PHONY: fuzz
fuzz: ## every fuzz target with FUZZTIME inputs (default 20000x), or for that time
	.ci/fuzz $(FUZZTIME)

## Check

.PHONY: ci
ci: fmt vet lint tidy deps test fuzz demo ## everything that must pass before a change lands, without other languages' tools

.PHONY: fmt
fmt: ## formatting
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [[ -n $$unformatted ]]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi

.PHONY: vet
vet: ## go vet
	go vet ./...
	for module in $(MODULES); do go -C $$module vet ./...; done

.PHONY: lint
lint: $(BIN)/golangci-lint ## golangci-lint, pinned in tools/go.mod
	$< run
	for module in $(MODULES); do (cd $$module && $(abspath $<) run); done

.PHONY: tidy
tidy: ## go.mod and go.sum say what is used
	go mod tidy -diff
	for module in $(MODULES); do go -C $$module mod tidy -diff; done
	go -C tools mod verify >/dev/null

.PHONY: deps
deps: ## the arrows between the packages, and what a function's binary may contain
	.ci/deps

.PHONY: template
template: $(VENV)/bin/sam ## the SAM template: cfn-lint, sam validate --lint, sam build
	.ci/template $(VENV)/bin

.PHONY: deploy-check
deploy-check: $(VENV)/bin/sam ## what ikkai new makes: its tests, SAM, both CDKs and Terraform, as far as the tools are there (minutes)
	.ci/deploy $(VENV)/bin

.PHONY: deploy-update
deploy-update: $(VENV)/bin/sam ## the same, and write what the CDK synthesizes to deploy/testdata
	.ci/deploy $(VENV)/bin update

$(BIN)/golangci-lint: tools/go.mod tools/go.sum
	go -C tools build -o $(BIN)/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(VENV)/bin/sam:
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet aws-sam-cli cfn-lint

.PHONY: clean
clean: ## remove what was built
	rm -rf $(CACHE) .aws-sam
