package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/rie"
	"github.com/ikkai-go/idempotency/internal/proof/queuesim"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

const (
	idempotencyTable = "idempotency"
	functionTimeout  = 2 * time.Second
)

// function is one of the sample functions.
type function struct {
	name string // of its folder
	// table is its own table, which holds the ledger of the service that it calls.
	table string
	// service is that service, as in the names of the function's settings.
	service string
	// event is the file of an event of its HTTP API, if it has one.
	event string
}

var (
	payment  = function{name: "payment", table: "payments", service: "PROVIDER", event: "testdata/events/httpapi-payment.json"}
	register = function{name: "register", table: "users", service: "MAIL", event: "testdata/events/httpapi-registration.json"}
	orders   = function{name: "orders", table: "orders", service: "WAREHOUSE"}
	checkout = function{name: "checkout", table: "sales", service: "PROVIDER", event: "testdata/events/httpapi-checkout.json"}
	payroll  = function{name: "payroll", table: "payroll", service: "BANK"}

	functions = []function{payment, register, orders, checkout, payroll}
)

// role is what an environment plays in the story: its function, and how the service
// behaves that the function calls.
type role struct {
	environment string
	function
	// behaviour is the SIMULATED_ setting of that service, and keys its
	// _IDEMPOTENT.
	behaviour, keys string
}

var cast = []role{
	{environment: "env-1", function: payment},
	{environment: "env-2", function: payment},
	{environment: "env-3", function: payment, behaviour: "slow"},
	{environment: "env-4", function: payment, behaviour: "slow"},
	{environment: "env-5", function: payment, behaviour: "hang"},
	{environment: "env-6", function: payment, behaviour: "flaky"},
	{environment: "env-7", function: payment, behaviour: "hang", keys: "off"},
	{environment: "env-8", function: payment, keys: "off"},
	{environment: "env-9", function: register},
	{environment: "env-10", function: register},
	{environment: "env-11", function: orders},
	{environment: "env-12", function: orders},
	{environment: "env-13", function: orders, behaviour: "hang"},
	{environment: "env-14", function: checkout, behaviour: "refuse"},
	{environment: "env-15", function: checkout},
	{environment: "env-16", function: checkout},
	{environment: "env-17", function: payroll},
	{environment: "env-18", function: payroll},
	{environment: "env-19", function: checkout},
	{environment: "env-20", function: payment, behaviour: "hang", keys: "off"},
}

// environment is a Lambda environment and its entrance to the database.
type environment struct {
	lambda
	endpoint string // of the Lambda API that it has
	meter    *meter
	crashed  atomic.Bool
}

// crash kills the environment.
func (e *environment) crash(ctx context.Context) error {
	e.crashed.Store(true)
	return e.Kill(ctx)
}

// lambda is what handles events: a [rie.Environment].
type lambda interface {
	Invoke(ctx context.Context, event []byte) ([]byte, error)
	Kill(ctx context.Context) error
	Stop() error
}

// stage is all that runs during a demo.
type stage struct {
	logs         string // folder
	endpoint     string // of the database
	db           *dynamotest.DB
	queue        *queuesim.Queue
	server       *http.Server
	served       chan struct{} // closed when the server has ended
	environments map[string]*environment
}

// openStage starts the database and the environments.
func openStage(ctx context.Context, programs programs, logs string) (*stage, error) {
	s, err := newStage(ctx)
	if err != nil {
		return nil, err
	}
	s.logs = logs
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	entrances, mux := &meters{db: s.db}, http.NewServeMux()
	s.serve(listener, mux)
	s.endpoint = "http://" + listener.Addr().String()
	mux.Handle("/operator", &meter{meters: entrances})
	for _, role := range cast {
		meter := &meter{meters: entrances}
		mux.Handle("/"+role.environment, meter)
		function := rie.Function{
			Name:      role.name,
			Binary:    programs.functions[role.function],
			Timeout:   functionTimeout,
			Variables: role.variables(s.endpoint + "/" + role.environment),
		}
		started, err := rie.Start(ctx, programs.emulator, function, filepath.Join(logs, role.environment+".log"))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", role.environment, err), s.close())
		}
		s.environments[role.environment] = &environment{lambda: started, endpoint: strings.TrimSuffix(started.URL, rie.Path), meter: meter}
	}
	return s, nil
}

// newStage is a stage with a database and a queue, and nobody on it.
func newStage(ctx context.Context) (*stage, error) {
	s := &stage{db: dynamotest.Open(), queue: queueOfOrders(), environments: make(map[string]*environment)}
	if err := dynamostore.CreateTable(ctx, s.db.Client(), dynamostore.Config{Table: idempotencyTable}); err != nil {
		return nil, err
	}
	for _, f := range functions {
		s.db.MustCreateTable(f.table, "pk")
	}
	s.db.ResetLog()
	return s, errors.Join(s.shelve(), s.hire())
}

// What is there at the beginning.
const (
	inStock = 10
	staff   = 40
)

// shelve puts goods into stock.
func (s *stage) shelve() error {
	return s.db.Seed(checkout.table, map[string]types.AttributeValue{
		"pk":       textValue("stock#" + goods),
		"quantity": numberValue(inStock),
		"price":    numberValue(4_50),
		"version":  numberValue(1),
	})
}

// hire puts employees on the payroll.
func (s *stage) hire() error {
	employees := make([]map[string]types.AttributeValue, staff)
	for n := range employees {
		employees[n] = map[string]types.AttributeValue{
			"pk":     textValue(fmt.Sprintf("employee#e-%03d", n+1)),
			"iban":   textValue(fmt.Sprintf("DE%020d", n+1)),
			"salary": numberValue(3000_00 + n),
		}
	}
	return s.db.Seed(payroll.table, employees...)
}

func textValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func numberValue(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
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
		"AWS_REGION":                dynamotest.Region,
		"AWS_ACCESS_KEY_ID":         "local",
		"AWS_SECRET_ACCESS_KEY":     "local",
		"AWS_ENDPOINT_URL_DYNAMODB": endpoint,
		"IDEMPOTENCY_TABLE":         idempotencyTable,
		"KEY_SCOPE":                 "jwt", // of payment

		strings.ToUpper(r.table) + "_TABLE": r.table,
		"SIMULATED_" + r.service:            r.behaviour,
		r.service + "_IDEMPOTENT":           r.keys,
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
