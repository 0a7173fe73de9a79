package samtemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Pattern is a filter pattern of CloudWatch Logs for lines that are JSON objects, such as
// { $.event = "stuck" }. Of the syntax it knows =, &&, || and
// parentheses; && binds closer. The zero Pattern matches nothing.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
type Pattern struct {
	holds func(object map[string]any) bool
}

// Matches tells whether the pattern matches a line. A line that is no JSON object, such
// as a stack trace, matches none.
func (p Pattern) Matches(line []byte) bool {
	var object map[string]any
	return json.Unmarshal(line, &object) == nil && p.holds != nil && p.holds(object)
}

// ParsePattern reads a pattern. An error says that it is none, or has more of the syntax
// than is known here.
func ParsePattern(text string) (Pattern, error) {
	inner, opened := strings.CutPrefix(strings.TrimSpace(text), "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !opened || !closed {
		return Pattern{}, errors.New("a pattern for JSON has braces around it")
	}
	p := &patternParser{rest: inner}
	p.next()
	holds, err := p.either()
	if err == nil && p.token != "" {
		err = fmt.Errorf("%q is out of place", p.token)
	}
	return Pattern{holds}, err
}

type condition = func(object map[string]any) bool

type patternParser struct {
	token string // the next one; empty at the end
	rest  string
}

var patternToken = regexp.MustCompile(`^(\|\||&&|[()=]|\$\.\w+|"[^"]*"|\S)`)

func (p *patternParser) next() {
	p.rest = strings.TrimSpace(p.rest)
	p.token = patternToken.FindString(p.rest)
	p.rest = p.rest[len(p.token):]
}

func (p *patternParser) either() (condition, error) {
	left, err := p.both()
	for err == nil && p.token == "||" {
		var right condition
		p.next()
		right, err = p.both()
		before := left
		left = func(o map[string]any) bool { return before(o) || right(o) }
	}
	return left, err
}

func (p *patternParser) both() (condition, error) {
	left, err := p.one()
	for err == nil && p.token == "&&" {
		var right condition
		p.next()
		right, err = p.one()
		before := left
		left = func(o map[string]any) bool { return before(o) && right(o) }
	}
	return left, err
}

func (p *patternParser) one() (condition, error) {
	if p.token == "(" {
		p.next()
		inner, err := p.either()
		if err == nil && p.token != ")" {
			err = fmt.Errorf("%q stands where a parenthesis should close", p.token)
		}
		p.next()
		return inner, err
	}
	name, isSelector := strings.CutPrefix(p.token, "$.")
	p.next()
	equals := p.token
	p.next()
	if !isSelector || equals != "=" || !strings.HasPrefix(p.token, `"`) {
		return nil, fmt.Errorf(`a comparison is $.name = "text", and this is not: %s %s %s`, name, equals, p.token)
	}
	want := strings.Trim(p.token, `"`)
	p.next()
	return func(o map[string]any) bool { return o[name] == want }, nil
}
