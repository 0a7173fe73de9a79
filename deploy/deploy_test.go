package deploy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/internal/samtemplate"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// operation is that of the function.
const operation = "payout"

func definitions(t *testing.T) map[string]definition {
	t.Helper()
	return map[string]definition{
		"sam": ofCloudFormation(t, "sam/template.yaml"),
		// Both CDK folders synthesize this, as .ci/deploy finds out where there is Node.
		"cdk":       ofCloudFormation(t, "testdata/cdk.template.json"),
		"terraform": ofTerraform(t),
	}
}

// The store's own table, and what only a deployed one has besides.
func TestTheTableIsTheStores(t *testing.T) {
	client := dynamotest.New(t).Client()
	if err := dynamostore.CreateTable(t.Context(), client, dynamostore.Config{Table: "records"}); err != nil {
		t.Fatal(err)
	}
	made, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("records")})
	if err != nil {
		t.Fatal(err)
	}
	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String("records")})
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Table.KeySchema) != 1 {
		t.Fatalf("the key is %+v", made.Table.KeySchema)
	}
	want := table{
		Key: *made.Table.KeySchema[0].AttributeName, KeyType: string(made.Table.AttributeDefinitions[0].AttributeType),
		TTL: *ttl.TimeToLiveDescription.AttributeName, Billing: string(made.Table.BillingModeSummary.BillingMode),
		Protected: true, Encrypted: true, Kept: true,
	}
	for way, d := range definitions(t) {
		if d.table != want {
			t.Errorf("%s: the table is %+v, want %+v", way, d.table, want)
		}
	}
}

func TestAllWaysDeployTheSame(t *testing.T) {
	all := definitions(t)
	sam := all["sam"]
	for what, n := range map[string]int{"statements": len(sam.statements), "filters": len(sam.filters), "alarms": len(sam.alarms), "settings": len(sam.function)} {
		if n < 2 {
			t.Errorf("there are %d %s", n, what)
		}
	}
	for way, d := range all {
		for what, pair := range map[string][2]any{
			"statements": {d.statements, sam.statements}, "filters": {d.filters, sam.filters},
			"alarms": {d.alarms, sam.alarms}, "function": {d.function, sam.function},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Errorf("%s: the %s are\n%v, and SAM's\n%v", way, what, pair[0], pair[1])
			}
		}
	}
}

// Whatever the key is made of, it begins with the operation; only then may the function touch its record.
func TestTheFunctionMayTouchItsOwnRecordsOnly(t *testing.T) {
	pattern := definitions(t)["sam"].statements["IdempotencyRecords"].LeadingKeys
	prefix, isPrefix := strings.CutSuffix(pattern, "*")
	if !isPrefix || prefix != operation+"#" {
		t.Fatalf("the pattern is %q", pattern)
	}
	request, err := idempotency.MustJMESPath("id").Key(operation, []byte(`{"id":"r-1"}`))
	if err != nil {
		t.Fatal(err)
	}
	tenants, err := idempotency.TenantKey("blue", request)
	if err != nil {
		t.Fatal(err)
	}
	item, err := idempotency.ItemKey(operation, "2026-11", "e-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{request, tenants, item} {
		if !strings.HasPrefix(key, prefix) {
			t.Errorf("%s does not match %s", key, pattern)
		}
	}
	if other, err := idempotency.ItemKey(operation+"s", "2026-11", "e-1"); err != nil || strings.HasPrefix(other, prefix) {
		t.Errorf("%s matches %s (%v)", other, pattern, err)
	}
}

// The patterns of the sample functions are held against what the functions print.
func TestTheFiltersAreThoseOfTheSamples(t *testing.T) {
	samples := ofSamples(t)
	for name, pattern := range definitions(t)["sam"].filters {
		if _, err := samtemplate.ParsePattern(pattern); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if pattern != samples[name] {
			t.Errorf("%s is %s, and of the samples %s", name, pattern, samples[name])
		}
	}
}

// What was synthesized is committed with the digests of what it came from.
func TestTheCDKTemplateIsOfTheseSources(t *testing.T) {
	content, err := os.ReadFile("testdata/cdk.sha256")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("cdk/*/infra/*")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, file := range append(sources, "testdata/cdk.template.json") {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		want = append(want, hex.EncodeToString(sum[:])+"  "+filepath.ToSlash(file))
	}
	if got := strings.Split(strings.TrimSpace(string(content)), "\n"); !slices.Equal(got, want) {
		t.Errorf("the CDK's sources have changed: make deploy-update synthesizes them again. The digests are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
