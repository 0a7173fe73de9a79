package deploy_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// table is what defines the table of records, in whatever way it is said.
type table struct {
	Key, KeyType, TTL, Billing string
	Protected, Encrypted, Kept bool
}

// statement is a statement of the function's policy.
type statement struct {
	Actions     []string
	LeadingKeys string // the pattern; empty for any
}

// definition is what is held against the other ways to deploy the function.
type definition struct {
	table      table
	statements map[string]statement // by sid, but for that of tracing, which CDK gives none
	filters    map[string]string    // name to pattern
	alarms     map[string]float64   // metric to threshold
	function   map[string]string
}

// cloudFormation is a template of CloudFormation or SAM, as JSON or YAML.
type cloudFormation struct {
	Resources map[string]struct {
		Type           string    `yaml:"Type"`
		DeletionPolicy string    `yaml:"DeletionPolicy"`
		Replace        string    `yaml:"UpdateReplacePolicy"`
		Properties     yaml.Node `yaml:"Properties"`
	} `yaml:"Resources"`
}

type names struct {
	AttributeName string `yaml:"AttributeName"`
	AttributeType string `yaml:"AttributeType"`
	KeyType       string `yaml:"KeyType"`
}

// properties are those of all resources that are looked at.
type properties struct {
	AttributeDefinitions []names `yaml:"AttributeDefinitions"`
	KeySchema            []names `yaml:"KeySchema"`
	BillingMode          string  `yaml:"BillingMode"`
	Protected            bool    `yaml:"DeletionProtectionEnabled"`
	TTL                  struct {
		AttributeName string `yaml:"AttributeName"`
		Enabled       bool   `yaml:"Enabled"`
	} `yaml:"TimeToLiveSpecification"`
	SSE struct {
		Enabled bool `yaml:"SSEEnabled"`
	} `yaml:"SSESpecification"`

	Policies []struct {
		PolicyDocument policyDocument `yaml:"PolicyDocument"`
	} `yaml:"Policies"`
	PolicyDocument policyDocument `yaml:"PolicyDocument"`

	FilterPattern string `yaml:"FilterPattern"`
	Transforms    []struct {
		MetricName string `yaml:"MetricName"`
	} `yaml:"MetricTransformations"`
	MetricName string  `yaml:"MetricName"`
	Threshold  float64 `yaml:"Threshold"`

	Runtime       string   `yaml:"Runtime"`
	Architectures []string `yaml:"Architectures"`
	Handler       string   `yaml:"Handler"`
	Timeout       string   `yaml:"Timeout"`
	MemorySize    string   `yaml:"MemorySize"`
	Logging       struct {
		LogFormat string `yaml:"LogFormat"`
	} `yaml:"LoggingConfig"`
	RetentionInDays string `yaml:"RetentionInDays"`
}

type policyDocument struct {
	Statement []struct {
		Sid       string                          `yaml:"Sid"`
		Action    yaml.Node                       `yaml:"Action"`
		Condition map[string]map[string]yaml.Node `yaml:"Condition"`
	} `yaml:"Statement"`
}

func ofCloudFormation(t *testing.T, file string) definition {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var template cloudFormation
	if err := yaml.Unmarshal(content, &template); err != nil { // which JSON is, too
		t.Fatal(err)
	}
	d := definition{statements: map[string]statement{}, filters: map[string]string{}, alarms: map[string]float64{}, function: map[string]string{}}
	for id, resource := range template.Resources {
		var p properties
		switch resource.Type {
		case "AWS::Serverless::Function", "AWS::Lambda::Function", "AWS::DynamoDB::Table", "AWS::Logs::LogGroup",
			"AWS::Logs::MetricFilter", "AWS::CloudWatch::Alarm":
			if err := resource.Properties.Decode(&p); err != nil {
				t.Fatalf("%s: %v", id, err)
			}
		case "AWS::IAM::Role", "AWS::IAM::Policy":
			if err := resource.Properties.Decode(&p); err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			d.addStatements(t, p.PolicyDocument)
			for _, policy := range p.Policies {
				d.addStatements(t, policy.PolicyDocument)
			}
			continue
		default:
			t.Errorf("%s: what is a %s to be held against?", id, resource.Type)
			continue
		}
		switch resource.Type {
		case "AWS::DynamoDB::Table":
			if len(p.KeySchema) != 1 || len(p.AttributeDefinitions) != 1 || p.KeySchema[0].KeyType != "HASH" || p.KeySchema[0].AttributeName != p.AttributeDefinitions[0].AttributeName {
				t.Fatalf("%s: the key is %+v of %+v", id, p.KeySchema, p.AttributeDefinitions)
			}
			d.table = table{
				Key: p.KeySchema[0].AttributeName, KeyType: p.AttributeDefinitions[0].AttributeType, Billing: p.BillingMode,
				Protected: p.Protected, Encrypted: p.SSE.Enabled, Kept: resource.DeletionPolicy == "Retain" && resource.Replace == "Retain",
			}
			if p.TTL.Enabled {
				d.table.TTL = p.TTL.AttributeName
			}
		case "AWS::Logs::LogGroup":
			d.function["retention"] = p.RetentionInDays
		case "AWS::Logs::MetricFilter":
			d.filters[p.Transforms[0].MetricName] = strings.Join(strings.Fields(p.FilterPattern), " ")
		case "AWS::CloudWatch::Alarm":
			d.alarms[p.MetricName] = p.Threshold
		default:
			d.function["runtime"], d.function["architecture"], d.function["handler"] = p.Runtime, strings.Join(p.Architectures, ","), p.Handler
			d.function["timeout"], d.function["memory"], d.function["log format"] = p.Timeout, p.MemorySize, p.Logging.LogFormat
		}
	}
	return d
}

func (d definition) addStatements(t *testing.T, document policyDocument) {
	t.Helper()
	for _, s := range document.Statement {
		if s.Sid == "" || s.Sid == "Traces" {
			continue
		}
		out := statement{Actions: texts(t, s.Action)}
		for operator, condition := range s.Condition {
			for name, value := range condition {
				switch operator + "/" + name {
				case "ForAllValues:StringLike/dynamodb:LeadingKeys":
					out.LeadingKeys = strings.Join(texts(t, value), ",")
				case "Null/dynamodb:LeadingKeys": // or a request without keys would be allowed
					if value.Value != "false" {
						t.Errorf("%s: Null is %q", s.Sid, value.Value)
					}
				default:
					t.Errorf("%s: there is a condition %s on %s", s.Sid, operator, name)
				}
			}
		}
		if len(s.Condition) == 1 {
			t.Errorf("%s has one condition, %v, and it takes both", s.Sid, s.Condition)
		}
		slices.Sort(out.Actions)
		d.statements[s.Sid] = out
	}
}

// texts is a text, or a list of some.
func texts(t *testing.T, node yaml.Node) []string {
	t.Helper()
	if node.Kind == yaml.ScalarNode {
		return []string{node.Value}
	}
	var list []string
	if err := node.Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list
}

// ofTerraform reads the folder of Terraform's.
func ofTerraform(t *testing.T) definition {
	t.Helper()
	d := definition{statements: map[string]statement{}, filters: map[string]string{}, alarms: map[string]float64{}, function: map[string]string{}}
	root := readTerraform(t, "terraform/infra")
	records := root.only(t, "resource", "aws_dynamodb_table")
	key := records.only(t, "attribute")
	if key.text(t, "name") != records.text(t, "hash_key") {
		t.Errorf("the attribute is %s, the key is %s", key.text(t, "name"), records.text(t, "hash_key"))
	}
	d.table = table{
		Key: records.text(t, "hash_key"), KeyType: key.text(t, "type"), Billing: records.text(t, "billing_mode"),
		Protected: records.values["deletion_protection_enabled"] == "true",
		Encrypted: records.only(t, "server_side_encryption").values["enabled"] == "true",
		Kept:      records.only(t, "lifecycle").values["prevent_destroy"] == "true",
	}
	if ttl := records.only(t, "ttl"); ttl.values["enabled"] == "true" {
		d.table.TTL = ttl.text(t, "attribute_name")
	}
	locals := map[string]string{}
	for _, b := range root.all("locals") {
		maps.Copy(locals, b.values)
	}
	for _, document := range root.all("data", "aws_iam_policy_document") {
		for _, s := range document.all("statement") {
			if s.values["sid"] == "" || s.text(t, "sid") == "Traces" {
				continue
			}
			var out statement
			if err := json.Unmarshal([]byte(s.values["actions"]), &out.Actions); err != nil {
				t.Fatal(err)
			}
			slices.Sort(out.Actions)
			for _, c := range s.all("condition") {
				if c.text(t, "test") == "ForAllValues:StringLike" {
					out.LeadingKeys = strings.ReplaceAll(strings.Trim(c.values["values"], `[]"`), "${local.operation}", strings.Trim(locals["operation"], `"`))
				} else if c.text(t, "test")+c.values["values"] != `Null["false"]` {
					t.Errorf("there is a condition %v", c.values)
				}
			}
			if n := len(s.all("condition")); n == 1 {
				t.Errorf("%s has one condition, and it takes both", s.text(t, "sid"))
			}
			d.statements[s.text(t, "sid")] = out
		}
	}
	d.addTerraformAlarms(t, locals)
	f := root.only(t, "resource", "aws_lambda_function")
	d.function = map[string]string{
		"runtime": f.text(t, "runtime"), "architecture": strings.Trim(f.values["architectures"], `[]"`), "handler": f.text(t, "handler"),
		"timeout": strings.Replace(f.values["timeout"], "local.timeout", locals["timeout"], 1), "memory": f.values["memory_size"],
		"log format": f.only(t, "logging_config").text(t, "log_format"),
		"retention":  root.only(t, "resource", "aws_cloudwatch_log_group").values["retention_in_days"],
	}
	return d
}

// ofSamples are the filters of the sample functions' template, by metric.
func ofSamples(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile("../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var template cloudFormation
	if err := yaml.Unmarshal(content, &template); err != nil {
		t.Fatal(err)
	}
	filters := map[string]string{}
	for id, resource := range template.Resources {
		if resource.Type != "AWS::Logs::MetricFilter" {
			continue
		}
		var p properties
		if err := resource.Properties.Decode(&p); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		filters[p.Transforms[0].MetricName] = strings.Join(strings.Fields(p.FilterPattern), " ")
	}
	return filters
}
