package dynamotest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"unicode/utf8"
)

// Quotas of the developer guide ("Tagging restrictions in DynamoDB").
const (
	maxTags         = 50
	maxTagKeySize   = 128
	maxTagValueSize = 256
	maxListedTags   = 10 // a page of ListTagsOfResource
)

type (
	tag struct {
		Key   *string
		Value *string
	}
	tagResourceInput struct {
		Resource *string `json:"ResourceArn"`
		Tags     []tag
	}
	untagResourceInput struct {
		Resource *string  `json:"ResourceArn"`
		Keys     []string `json:"TagKeys"`
	}
	listTagsInput struct {
		Resource *string `json:"ResourceArn"`
		Next     *string `json:"NextToken"`
	}
	listTagsOutput struct {
		Tags      []tag
		NextToken string `json:",omitempty"`
	}
)

func (in *tagResourceInput) subjects() []string   { return nonNil(in.Resource) }
func (in *untagResourceInput) subjects() []string { return nonNil(in.Resource) }
func (in *listTagsInput) subjects() []string      { return nonNil(in.Resource) }

// checkTags refuses tags that no resource can have.
func checkTags(tags []tag) error {
	var faults constraints
	for i, t := range tags {
		at := fmt.Sprintf("tags.%d.member.", i+1)
		faults.addIf(t.Key == nil, "null", at+"key", "Member must not be null")
		faults.addIf(t.Value == nil, "null", at+"value", "Member must not be null")
		if t.Key != nil {
			faults.addIf(*t.Key == "", "''", at+"key", "Member must have length greater than or equal to 1")
			faults.addIf(utf8.RuneCountInString(*t.Key) > maxTagKeySize, notShown, at+"key", "Member must have length less than or equal to 128")
		}
		if t.Value != nil {
			faults.addIf(utf8.RuneCountInString(*t.Value) > maxTagValueSize, notShown, at+"value", "Member must have length less than or equal to 256")
		}
	}
	if err := faults.err(); err != nil {
		return err
	}
	if len(tagged(nil, tags)) > maxTags {
		return errTooManyTags
	}
	return nil
}

var errTooManyTags = invalid("Tag limit exceeded: a resource can have up to %d tags", maxTags)

// tagged are the tags with more of them, of which the new ones win.
func tagged(tags map[string]string, more []tag) map[string]string {
	all := maps.Clone(tags)
	if all == nil {
		all = make(map[string]string, len(more))
	}
	for _, t := range more {
		all[*t.Key] = *t.Value
	}
	return all
}

// resource finds the table of an ARN.
func (c *call) resource(arn *string) (*table, error) {
	switch {
	case arn == nil:
		var faults constraints
		faults.addIf(true, "null", "resourceArn", "Member must not be null")
		return nil, faults.err()
	case !tableARNPattern.MatchString(*arn):
		return nil, invalid("Invalid TableArn: Invalid ResourceArn provided as input %s", *arn)
	}
	t, ok := c.lookUp(*arn)
	if !ok {
		return nil, failure("ResourceNotFoundException", "Requested resource not found: ResourcArn: %s not found", *arn)
	}
	return t, nil
}

func (in *tagResourceInput) apply(c *call) (any, error) {
	t, err := c.resource(in.Resource)
	if err != nil {
		return nil, err
	}
	if len(in.Tags) == 0 {
		return nil, invalid("Atleast one Tag needs to be provided as Input.")
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	tags := tagged(t.tags, in.Tags)
	if len(tags) > maxTags {
		return nil, errTooManyTags
	}
	t.tags = tags
	return struct{}{}, nil
}

func (in *untagResourceInput) apply(c *call) (any, error) {
	t, err := c.resource(in.Resource)
	if err != nil {
		return nil, err
	}
	if len(in.Keys) == 0 {
		return nil, invalid("Atleast one Tag Key needs to be provided as Input.")
	}
	for _, key := range in.Keys {
		delete(t.tags, key)
	}
	return struct{}{}, nil
}

func (in *listTagsInput) apply(c *call) (any, error) {
	t, err := c.resource(in.Resource)
	if err != nil {
		if asAPIError(err).code() == "ResourceNotFoundException" {
			return nil, &apiError{status: http.StatusBadRequest, typ: dynamoDBErrors + "AccessDeniedException",
				message: fmt.Sprintf("User: arn:aws:iam::%s:user/local is not authorized to perform: dynamodb:ListTagsOfResource on resource: %s", account, *in.Resource)}
		}
		return nil, err
	}
	listed := listTagsOutput{Tags: []tag{}}
	for _, key := range slices.Sorted(maps.Keys(t.tags)) {
		if in.Next != nil && key <= *in.Next {
			continue
		}
		if len(listed.Tags) == maxListedTags {
			listed.NextToken = *listed.Tags[maxListedTags-1].Key
			break
		}
		listed.Tags = append(listed.Tags, tag{new(key), new(t.tags[key])})
	}
	return listed, nil
}
