package localdb

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const templateOfTables = `
Parameters:
  Stage: {Type: String, Default: dev}
  Owner: {Type: String}
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "orders-${Stage}"
      BillingMode: PROVISIONED
      ProvisionedThroughput: {ReadCapacityUnits: 5, WriteCapacityUnits: 2}
      AttributeDefinitions:
        - {AttributeName: customer, AttributeType: S}
        - {AttributeName: number, AttributeType: N}
        - {AttributeName: state, AttributeType: S}
      KeySchema:
        - {AttributeName: customer, KeyType: HASH}
        - {AttributeName: number, KeyType: RANGE}
      GlobalSecondaryIndexes:
        - IndexName: states
          KeySchema: [{AttributeName: state, KeyType: HASH}]
          Projection: {ProjectionType: ALL}
          ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 1}
      TimeToLiveSpecification: {AttributeName: expires, Enabled: true}
      StreamSpecification: {StreamViewType: NEW_IMAGE}
      KinesisStreamSpecification: {StreamArn: !GetAtt Stream.Arn}
  Named:
    Type: AWS::Serverless::SimpleTable
    Properties:
      TableName: !Ref Owner
      PrimaryKey: {Name: user, Type: Number}
  Plain:
    Type: AWS::Serverless::SimpleTable
  Queue:
    Type: AWS::SQS::Queue
`

// started runs until the test calls stop, which gives what Run wrote and returned.
func started(t *testing.T, options Options) (client *dynamodb.Client, notes *bytes.Buffer, stop func() (string, error)) {
	t.Helper()
	notes = new(bytes.Buffer)
	options.Notes, options.Host = notes, "127.0.0.1"
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := Run(ctx, writer, options)
		writer.Close()
		ended <- err
	}()
	var head strings.Builder
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	buffer := make([]byte, 1<<10)
	for !url.MatchString(head.String()) {
		n, err := reader.Read(buffer)
		if err != nil {
			t.Fatalf("%v, %v: %s", err, <-ended, head.String())
		}
		head.Write(buffer[:n])
	}
	client = dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(url.FindString(head.String())), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})
	rest := make(chan string, 1)
	go func() {
		content, _ := io.ReadAll(reader)
		rest <- string(content)
	}()
	return client, notes, func() (string, error) {
		cancel()
		err := <-ended
		return head.String() + <-rest, err
	}
}

func TestATemplateAndItemsAreServed(t *testing.T) {
	client, notes, stop := started(t, Options{
		Tables: []string{file(t, "template.yaml", templateOfTables), "more=id,at:N"},
		Seeds: []string{file(t, "items.json", `{
			"orders-dev": [{"customer": {"S": "c"}, "number": {"N": "1"}, "state": {"S": "new"}}],
			"more": [{"PutRequest": {"Item": {"id": {"S": "i"}, "at": {"N": "2"}}}}]
		}`)},
		ReadTimeout: time.Minute, IdleTimeout: time.Minute,
	})
	ctx := t.Context()
	listed, err := client.ListTables(ctx, &dynamodb.ListTablesInput{})
	if err != nil || strings.Join(listed.TableNames, " ") != "Named Plain more orders-dev" {
		t.Errorf("%v, %v", listed, err)
	}
	described, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("orders-dev")})
	if err != nil || *described.Table.ProvisionedThroughput.WriteCapacityUnits != 2 || *described.Table.GlobalSecondaryIndexes[0].ItemCount != 1 ||
		described.Table.StreamSpecification.StreamViewType != "NEW_IMAGE" {
		t.Errorf("%+v, %v", described, err)
	}
	ttl, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String("orders-dev")})
	if err != nil || *ttl.TimeToLiveDescription.AttributeName != "expires" {
		t.Errorf("%+v, %v", ttl, err)
	}
	found, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("more"), Key: map[string]types.AttributeValue{
		"id": &types.AttributeValueMemberS{Value: "i"}, "at": &types.AttributeValueMemberN{Value: "2"},
	}})
	if err != nil || found.Item == nil {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("nowhere")}); err == nil {
		t.Error("a table that was never made")
	}
	out, err := stop()
	if err != nil {
		t.Error(err)
	}
	for _, line := range []string{"table orders-dev\n", "table more\n", "2 items of ", "requests: 5, refused: 1, the last: DescribeTable; nothing is kept\n"} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	if want := "table orders-dev is served without its KinesisStreamSpecification\n"; notes.String() != want {
		t.Errorf("notes %q, want %q", notes, want)
	}
}

func TestOneTableOfATemplate(t *testing.T) {
	tables, err := ParseTables(file(t, "template.yaml", templateOfTables) + "#Plain")
	if err != nil || len(tables) != 1 || tables[0].Name() != "Plain" {
		t.Errorf("%v, %v", tables, err)
	}
}

// The project's own template can be served.
func TestTheSampleTemplate(t *testing.T) {
	tables, err := ParseTables("../../../../template.yaml")
	if err != nil || len(tables) < 5 || tables[0].Name() != "IdempotencyTable" || tables[0].ttl != "expire_at" {
		t.Errorf("%v, %v", tables, err)
	}
}

func TestWhatCannotBeServedIsSaidBeforeAnythingIs(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	takenPort, _ := strconv.Atoi(port)
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"a port that is taken":      {Options{Port: takenPort}, "address already in use"},
		"no template":               {Options{Tables: []string{"nowhere.yaml"}}, "nowhere.yaml"},
		"no table":                  {Options{Tables: []string{"orders"}}, "neither a template"},
		"a table twice":             {Options{Tables: []string{"orders=id", "orders=id"}}, "already exists"},
		"an unknown type":           {Options{Tables: []string{"orders=id:X"}}, "table orders: "},
		"no YAML":                   {Options{Tables: []string{file(t, "t.yaml", "a: [")}}, "t.yaml: yaml: "},
		"a template of no tables":   {Options{Tables: []string{file(t, "t.yaml", "Resources: {A: {Type: AWS::SQS::Queue}}")}}, "no tables"},
		"a table that is not in it": {Options{Tables: []string{file(t, "t.yaml", templateOfTables) + "#Others"}}, "no table Others"},
		"a key that only CloudFormation knows": {Options{Tables: []string{file(t, "t.yaml",
			"Resources: {A: {Type: 'AWS::DynamoDB::Table', Properties: {KeySchema: !GetAtt B.C}}}")}}, "A: KeySchema: line 1: !GetAtt is known only to CloudFormation"},
		"no items":                {Options{Seeds: []string{"nowhere.json"}}, "nowhere.json"},
		"items of no table":       {Options{Seeds: []string{file(t, "i.json", `{"orders": [{"id": {"S": "a"}}]}`)}}, "table orders: ResourceNotFoundException"},
		"items without their key": {Options{Tables: []string{"orders=id"}, Seeds: []string{file(t, "i.json", `{"orders": [{"id": {"S": "a"}}, {"n": {"S": "a"}}]}`)}}, "item 2 for table orders: ValidationException"},
		"items that are deleted":  {Options{Tables: []string{"orders=id"}, Seeds: []string{file(t, "i.json", `{"orders": [{"DeleteRequest": {"Key": {"id": {"S": "a"}}}}]}`)}}, "item 1 for table orders"},
		"no JSON":                 {Options{Seeds: []string{file(t, "i.json", `{"orders"`)}}, "i.json: items by table: "},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Host, c.options.Notes = "127.0.0.1", io.Discard
			var out strings.Builder
			err := Run(t.Context(), &out, c.options)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(out.String(), "DynamoDB at") {
				t.Errorf("got %v, want %q; wrote %s", err, c.want, out.String())
			}
		})
	}
}

// A client that sends nothing, or nothing more, is not waited for.
func TestSilentClientsAreCutOff(t *testing.T) {
	for name, sent := range map[string]string{"a connection without a request": "", "half a request": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"} {
		t.Run(name, func(t *testing.T) {
			client, _, stop := started(t, Options{ReadTimeout: 20 * time.Millisecond, IdleTimeout: 20 * time.Millisecond})
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(*client.Options().BaseEndpoint, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(conn); err != nil { // ends when the server closes
				t.Log(err)
			}
			if _, err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
