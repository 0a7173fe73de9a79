package samtemplate

import (
	"errors"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Statement is a statement of a policy that allows something.
type Statement struct {
	Sid     string
	Actions []string
	// Resource is what it is about, such as "IdempotencyTable.Arn".
	Resource string
	// LeadingKeys are patterns for the partition keys of the items; nil allows all.
	LeadingKeys []string
}

// Statements are what a function may do, by its own policies or those of its role.
func (t *Template) Statements(function string) []Statement {
	return slices.Concat(t.statements[function], t.statements[t.roles[function]])
}

// Allows tells whether a function may call an action of DynamoDB, such as "PutItem", on
// the item of a table with that partition key. The table is named by its logical ID.
func (t *Template) Allows(function, action, table, key string) bool {
	return slices.ContainsFunc(t.Statements(function), func(s Statement) bool {
		return s.Resource == table+".Arn" && slices.Contains(s.Actions, "dynamodb:"+action) && s.leads(key)
	})
}

func (s Statement) leads(key string) bool {
	return s.LeadingKeys == nil || slices.ContainsFunc(s.LeadingKeys, func(pattern string) bool {
		before, all := strings.CutSuffix(pattern, "*")
		return all && strings.HasPrefix(key, before) || key == pattern
	})
}

var errStatement = errors.New("a statement has more than is known here")

func statementsOf(policy *yaml.Node) ([]Statement, error) {
	var document struct {
		PolicyDocument yaml.Node `yaml:"PolicyDocument"`
	}
	if err := policy.Decode(&document); err != nil {
		return nil, err
	}
	if !document.PolicyDocument.IsZero() { // a role's policy has a name around it
		policy = &document.PolicyDocument
	}
	var parsed struct {
		Statement []struct {
			Sid       string                          `yaml:"Sid"`
			Effect    string                          `yaml:"Effect"`
			Action    texts                           `yaml:"Action"`
			Resource  yaml.Node                       `yaml:"Resource"`
			Condition map[string]map[string]yaml.Node `yaml:"Condition"`
		} `yaml:"Statement"`
	}
	if err := policy.Decode(&parsed); err != nil {
		return nil, err
	}
	var statements []Statement
	for _, p := range parsed.Statement {
		s := Statement{Sid: p.Sid, Actions: p.Action, Resource: p.Resource.Value}
		if p.Effect != "Allow" {
			return nil, errStatement
		}
		for operator, keys := range p.Condition {
			for name, node := range keys {
				switch path.Join(operator, name) {
				case "ForAllValues:StringLike/dynamodb:LeadingKeys":
					if err := node.Decode((*texts)(&s.LeadingKeys)); err != nil {
						return nil, err
					}
				case "Null/dynamodb:LeadingKeys": // "false", or requests without keys would be allowed
					if node.Value != "false" {
						return nil, errStatement
					}
				default:
					return nil, errStatement
				}
			}
		}
		statements = append(statements, s)
	}
	return statements, nil
}

// texts is a text, or a list of some.
type texts []string

// UnmarshalYAML implements [yaml.Unmarshaler].
func (t *texts) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*t = texts{node.Value}
		return nil
	}
	return node.Decode((*[]string)(t))
}
