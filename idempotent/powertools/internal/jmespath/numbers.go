package jmespath

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

func abs(_ *interpreter, args []value.Value) (value.Value, error) {
	if n, ok := args[0].(*big.Int); ok {
		return new(big.Int).Abs(n), nil
	}
	return math.Abs(args[0].(float64)), nil
}

// round returns ceil or floor, which are integers in Python.
func round(to func(float64) float64) func(*interpreter, []value.Value) (value.Value, error) {
	return func(in *interpreter, args []value.Value) (value.Value, error) {
		f, ok := args[0].(float64)
		if !ok {
			return args[0], nil
		}
		f = to(f)
		if in.language == value.JavaScript {
			return f, nil
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, errSwallowed
		}
		n, _ := big.NewFloat(f).Int(nil)
		return n, nil
	}
}

var (
	integerText = regexp.MustCompile(`^[+-]?[0-9]+$`)
	decimalText = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
	// exotic are the spellings that only one of the languages reads, or in its own way.
	exotic = regexp.MustCompile(`(?i)[^\x20-\x7e]|_|nan|inf|^[+-]?0[xob]`)
)

func toNumber(in *interpreter, args []value.Value) (value.Value, error) {
	s, ok := args[0].(string)
	if !ok {
		if isNumber(args[0]) {
			return args[0], nil
		}
		return nil, nil
	}
	text := strings.Trim(s, " ") // other white space is exotic
	switch {
	case exotic.MatchString(text):
		return nil, value.Inexact("to_number() of a spelling of its own")
	case integerText.MatchString(text) && in.language == value.Python:
		if n, err := value.ParseInteger(text); err == nil {
			return n, nil
		}
		f, _ := strconv.ParseFloat(text, 64) // an integer that is too long is read as a float
		return f, nil
	case decimalText.MatchString(text):
		f, _ := strconv.ParseFloat(text, 64)
		return f, nil
	case text == "" && in.language == value.JavaScript:
		return 0.0, nil
	default:
		return nil, nil
	}
}
