// Package wiring is what the mains of the sample functions share.
package wiring

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/functions/internal/simulated"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// Parts are what a function is made of.
type Parts struct {
	Store   persistence.Store // of the records
	Client  *dynamodb.Client  // for the function's own tables
	Setting func(variable string) string
}

// Start runs the function that build makes of the environment. It does not return: a
// function that can't be made says why in the log, and Lambda reports that it did not start.
func Start[F any](build func(Parts) (F, error)) {
	slog.SetDefault(lambdacontext.NewLogger())
	function, err := ofEnvironment(build)
	if err != nil {
		slog.Error("the function can't start", "error", err)
		os.Exit(1)
	}
	lambda.Start(function)
}

func ofEnvironment[F any](build func(Parts) (F, error)) (function F, err error) {
	store, client, err := dynamostore.FromEnvironment(context.Background())
	if err != nil {
		return function, err
	}
	return build(Parts{Store: store, Client: client, Setting: os.Getenv})
}

// Build makes a function as Start does, with a client and settings by variable that are given,
// of which later ones count: for tests.
func Build[F any](build func(Parts) (F, error), client *dynamodb.Client, settings ...map[string]string) (function F, err error) {
	all := make(map[string]string)
	for _, some := range settings {
		maps.Copy(all, some)
	}
	store, err := dynamostore.New(client, dynamostore.Config{Table: all["IDEMPOTENCY_TABLE"]})
	if err != nil {
		return function, fmt.Errorf("IDEMPOTENCY_TABLE: %w", err)
	}
	return build(Parts{Store: store, Client: client, Setting: func(variable string) string { return all[variable] }})
}

// Ledger is the function's own table, whose name the variable has.
func (p Parts) Ledger(variable string) (*ledger.Ledger, error) {
	l, err := ledger.New(p.Client, p.Setting(variable))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return l, nil
}

// Service is a simulated service that does things of a kind, and behaves as SIMULATED_NAME and
// NAME_IDEMPOTENT say.
func (p Parts) Service(l *ledger.Ledger, kind, name string) (*simulated.Service, error) {
	s, err := simulated.New(l, kind, p.Setting("SIMULATED_"+name), p.Setting(name+"_IDEMPOTENT"))
	if err != nil {
		return nil, fmt.Errorf("SIMULATED_%s: %w", name, err)
	}
	return s, nil
}
