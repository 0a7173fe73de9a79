package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/rie"
	"github.com/ikkai-go/idempotency/internal/dynamolocal"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

const (
	idempotencyTable = "idempotency"
	paymentsTable    = "payments"
	functionTimeout  = 2 * time.Second
)

// role is what an environment plays in the story: how the payment provider
// behaves that its function talks to.
type role struct {
	environment string
	// provider is the function's SIMULATED_PROVIDER, and keys its
	// PROVIDER_IDEMPOTENT.
	provider, keys string
}

var cast = []role{
	{environment: "env-1"},
	{environment: "env-2"},
	{environment: "env-3", provider: "slow"},
	{environment: "env-4", provider: "slow"},
	{environment: "env-5", provider: "hang"},
	{environment: "env-6", provider: "flaky"},
	{environment: "env-7", provider: "hang", keys: "off"},
	{environment: "env-8", keys: "off"},
}

// environment is a Lambda environment and its entrance to the database.
type environment struct {
	*rie.Environment
	meter *meter
}

// stage is all that runs during a demo.
type stage struct {
	logs         string // folder
	db           *dynamolocal.DB
	server       *http.Server
	served       chan struct{} // closed when the server has ended
	environments map[string]*environment
}

// openStage starts the database and the environments.
func openStage(ctx context.Context, programs programs, logs string) (*stage, error) {
	s := &stage{logs: logs, db: dynamolocal.New(), environments: make(map[string]*environment)}
	if err := s.createTables(ctx); err != nil {
		return nil, err
	}
	s.db.ResetLog()
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	entrances, mux := &meters{db: s.db}, http.NewServeMux()
	s.serve(listener, mux)
	for _, role := range cast {
		meter := &meter{meters: entrances}
		mux.Handle("/"+role.environment, meter)
		function := rie.Function{
			Name:      "payment",
			Binary:    programs.function,
			Timeout:   functionTimeout,
			Variables: role.variables("http://" + listener.Addr().String() + "/" + role.environment),
		}
		started, err := rie.Start(ctx, programs.emulator, function, filepath.Join(logs, role.environment+".log"))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", role.environment, err), s.close())
		}
		s.environments[role.environment] = &environment{Environment: started, meter: meter}
	}
	return s, nil
}

func (s *stage) createTables(ctx context.Context) error {
	client := s.db.Client()
	if err := dynamostore.CreateTable(ctx, client, dynamostore.Config{Table: idempotencyTable}); err != nil {
		return err
	}
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String(paymentsTable),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	return err
}

func (s *stage) serve(listener net.Listener, handler http.Handler) {
	s.server = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		_ = s.server.Serve(listener) // until it is closed
	}()
}

// variables are the environment variables of the function, which the emulator
// needs some of too.
func (r role) variables(endpoint string) map[string]string {
	return map[string]string{
		"AWS_REGION":                dynamolocal.Region,
		"AWS_ACCESS_KEY_ID":         "local",
		"AWS_SECRET_ACCESS_KEY":     "local",
		"AWS_ENDPOINT_URL_DYNAMODB": endpoint,
		"IDEMPOTENCY_TABLE":         idempotencyTable,
		"PAYMENTS_TABLE":            paymentsTable,
		"KEY_SCOPE":                 "jwt",
		"SIMULATED_PROVIDER":        r.provider,
		"PROVIDER_IDEMPOTENT":       r.keys,
	}
}

// close ends the environments and then the database. Every step is taken,
// whatever becomes of the others.
func (s *stage) close() error {
	var failures []error
	for name, e := range s.environments {
		if err := e.Stop(); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", name, err))
		}
	}
	if err := s.server.Close(); err != nil {
		failures = append(failures, fmt.Errorf("stop DynamoDB: %w", err))
	}
	<-s.served
	return errors.Join(failures...)
}
