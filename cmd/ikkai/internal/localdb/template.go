package localdb

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.yaml.in/yaml/v3"
)

// template is what of a CloudFormation or SAM template is looked at.
type template struct {
	Parameters map[string]parameter `yaml:"Parameters"`
	Resources  yaml.Node            `yaml:"Resources"`
}

type parameter struct {
	Default yaml.Node `yaml:"Default"`
}

type resource struct {
	Type       string    `yaml:"Type"`
	Properties yaml.Node `yaml:"Properties"`
}

// readTemplate reads the tables of a template, or the one with the logical ID. A table without a name, or with one that
// depends on more than the defaults of parameters, gets its logical ID for a name, as Ref gives in sam local.
func readTemplate(file, logicalID string) ([]Table, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var t template
	if err := yaml.Unmarshal(content, &t); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var tables []Table
	for id, node := range members(&t.Resources) {
		if logicalID != "" && id != logicalID {
			continue
		}
		var r resource
		if err := node.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, id, err)
		}
		var table Table
		switch r.Type {
		case "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable":
			table, err = t.table(id, &r.Properties)
		case "AWS::Serverless::SimpleTable":
			table, err = t.simpleTable(id, &r.Properties)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, id, err)
		}
		tables = append(tables, table)
	}
	switch {
	case len(tables) == 0 && logicalID != "":
		return nil, fmt.Errorf("%s: no table %s", file, logicalID)
	case len(tables) == 0:
		return nil, fmt.Errorf("%s: no tables", file)
	}
	return tables, nil
}

// members are the members of a mapping, in their order.
func members(n *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		if n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// served are the properties of a table that the API's CreateTable knows by the same names.
var served = []string{
	"AttributeDefinitions", "KeySchema", "BillingMode", "ProvisionedThroughput", "GlobalSecondaryIndexes", "LocalSecondaryIndexes",
	"TableClass", "DeletionProtectionEnabled", "Tags",
}

// local are properties that mean nothing where data lives in memory.
var local = []string{"TableName", "TimeToLiveSpecification", "SSESpecification", "PointInTimeRecoverySpecification"}

func (t template) table(id string, properties *yaml.Node) (Table, error) {
	request := map[string]any{}
	table := Table{}
	for name, node := range members(properties) {
		switch {
		case slices.Contains(served, name):
			value, err := t.value(node)
			if err != nil {
				return Table{}, fmt.Errorf("%s: %w", name, err)
			}
			request[name] = value
		case name == "TimeToLiveSpecification":
			value, err := t.value(node)
			if err != nil {
				return Table{}, fmt.Errorf("%s: %w", name, err)
			}
			if ttl, ok := value.(map[string]any); ok && fmt.Sprint(ttl["Enabled"]) == "true" {
				table.ttl = fmt.Sprint(ttl["AttributeName"])
			}
		case name == "StreamSpecification":
			value, err := t.value(node)
			if err != nil {
				return Table{}, fmt.Errorf("%s: %w", name, err)
			}
			if stream, ok := value.(map[string]any); ok {
				request[name] = map[string]any{"StreamEnabled": true, "StreamViewType": stream["StreamViewType"]}
			}
		case !slices.Contains(local, name):
			table.unserved = append(table.unserved, name)
		}
	}
	request["TableName"] = t.name(id, properties)
	table.definition = new(dynamodb.CreateTableInput)
	encoded, err := json.Marshal(request)
	if err != nil {
		return Table{}, err
	}
	return table, json.Unmarshal(encoded, table.definition)
}

func (t template) simpleTable(id string, properties *yaml.Node) (Table, error) {
	key, kind := "id", "S"
	for name, node := range members(properties) {
		if name != "PrimaryKey" {
			continue
		}
		for name, node := range members(node) {
			value, err := t.value(node)
			if err != nil {
				return Table{}, err
			}
			switch name {
			case "Name":
				key = fmt.Sprint(value)
			case "Type": // String, Number or Binary
				kind = fmt.Sprint(value)[:1]
			}
		}
	}
	tables, err := ParseTables(t.name(id, properties) + "=" + key + ":" + kind)
	if err != nil {
		return Table{}, err
	}
	return tables[0], nil
}

func (t template) name(id string, properties *yaml.Node) string {
	for name, node := range members(properties) {
		if name != "TableName" {
			continue
		}
		if value, err := t.value(node); err == nil {
			return fmt.Sprint(value)
		}
	}
	return id
}

// value is what a node stands for: with the defaults of parameters for references to them.
func (t template) value(n *yaml.Node) (any, error) {
	switch {
	case n.Kind == yaml.AliasNode:
		return t.value(n.Alias)
	case n.Tag == "!Ref":
		return t.parameter(n.Value)
	case n.Tag == "!Sub" && n.Kind == yaml.ScalarNode:
		return t.substituted(n.Value)
	case strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
		return nil, fmt.Errorf("line %d: %s is known only to CloudFormation", n.Line, n.Tag)
	case n.Kind == yaml.SequenceNode:
		values := []any{}
		for _, element := range n.Content {
			value, err := t.value(element)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
		return values, nil
	case n.Kind == yaml.MappingNode:
		return t.mapping(n)
	default:
		var scalar any
		return scalar, n.Decode(&scalar)
	}
}

func (t template) mapping(n *yaml.Node) (any, error) {
	values := map[string]any{}
	for name, member := range members(n) {
		switch {
		case name == "Ref":
			return t.parameter(member.Value)
		case name == "Fn::Sub" && member.Kind == yaml.ScalarNode:
			return t.substituted(member.Value)
		case strings.HasPrefix(name, "Fn::"):
			return nil, fmt.Errorf("line %d: %s is known only to CloudFormation", member.Line, name)
		}
		value, err := t.value(member)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}

func (t template) parameter(name string) (any, error) {
	p, ok := t.Parameters[name]
	if !ok || p.Default.IsZero() {
		return nil, fmt.Errorf("%s has no default", name)
	}
	return t.value(&p.Default)
}

var placeholder = regexp.MustCompile(`\$\{([^}!]+)\}`)

func (t template) substituted(text string) (string, error) {
	var unknown error
	replaced := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		value, err := t.parameter(strings.TrimSpace(found[2 : len(found)-1]))
		if err != nil {
			unknown = err
		}
		return fmt.Sprint(value)
	})
	return replaced, unknown
}
