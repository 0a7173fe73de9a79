package dynamostore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// setEnvironment is the environment of a Lambda function whose DynamoDB is db, without what
// this machine's own has of the AWS SDK.
func setEnvironment(t *testing.T, db *dynamotest.DB, variables map[string]string) {
	t.Helper()
	url, err := db.Serve()
	if err != nil {
		t.Fatal(err)
	}
	none := t.TempDir() + "/none"
	for name, value := range map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_SESSION_TOKEN": "",
		"AWS_ENDPOINT_URL_DYNAMODB": url,
		"IDEMPOTENCY_TABLE":         "idempotency", "IDEMPOTENCY_WARM": "",
	} {
		t.Setenv(name, value)
	}
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

func TestAStoreFromTheEnvironmentIsOnItsTable(t *testing.T) {
	db := dynamotest.New(t)
	db.MustCreateTable("records", "key")
	setEnvironment(t, db, map[string]string{"IDEMPOTENCY_TABLE": "records"})
	store, client, err := dynamostore.FromEnvironment(t.Context(), func(c *dynamostore.Config) { c.Attributes.Key = "key" })
	if err != nil {
		t.Fatal(err)
	}
	if n := len(db.Requests()); n != 0 {
		t.Errorf("it made %d requests that nobody has asked for", n)
	}
	if region := client.Options().Region; region != "eu-central-1" {
		t.Errorf("the client is of Region %q", region)
	}
	if _, err := store.Acquire(t.Context(), claim("me")); err != nil {
		t.Fatal(err)
	}
	if n := len(db.Items("records")); n != 1 {
		t.Errorf("the table has %d records", n)
	}
}

func TestAStoreFromTheEnvironmentIsWarmWhereThatIsAskedFor(t *testing.T) {
	for setting, want := range map[string]int{"": 0, "false": 0, "0": 0, "true": 1, "1": 1, "t": 1} {
		t.Run(setting, func(t *testing.T) {
			db := dynamotest.New(t) // without a table: what fails in the init phase is left to the first call
			setEnvironment(t, db, map[string]string{"IDEMPOTENCY_WARM": setting})
			if _, _, err := dynamostore.FromEnvironment(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := len(db.Requests()); got != want {
				t.Errorf("it made %d requests, want %d", got, want)
			}
		})
	}
}

func TestAnEnvironmentThatLacksSomethingSaysWhat(t *testing.T) {
	for name, test := range map[string]struct {
		variables map[string]string
		change    func(*dynamostore.Config)
		want      string
	}{
		"no table":  {map[string]string{"IDEMPOTENCY_TABLE": ""}, nil, "IDEMPOTENCY_TABLE is not set"},
		"no Region": {map[string]string{"AWS_REGION": ""}, nil, "AWS_REGION"},
		"warmth":    {map[string]string{"IDEMPOTENCY_WARM": "yes please"}, nil, `IDEMPOTENCY_WARM is "yes please"`},
		"option":    {nil, func(c *dynamostore.Config) { c.PartitionValue = "shop" }, "PartitionValue"},
	} {
		t.Run(name, func(t *testing.T) {
			setEnvironment(t, dynamotest.New(t), test.variables)
			var options []func(*dynamostore.Config)
			if test.change != nil {
				options = append(options, test.change)
			}
			store, client, err := dynamostore.FromEnvironment(t.Context(), options...)
			if !errors.Is(err, dynamostore.ErrConfig) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want an ErrConfig that tells of %s, got %v", test.want, err)
			}
			if store != nil || client != nil {
				t.Error("there is a store all the same")
			}
		})
	}
}
