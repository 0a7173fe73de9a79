package value

// What one evaluation may cost: so much, and so much for each byte of the event.
const (
	minSteps     = 1 << 20
	stepsPerByte = 1
	minText      = 16 << 20
	textPerByte  = 4 // Python's escapes make three of one
	// parsedCost is in steps: a value that is kept costs memory, a look at one only
	// time.
	parsedCost = 2
)

// Budget bounds what the evaluation of one expression costs, since a few bytes of
// gzip, or of an expression that doubles its value again and again, can stand for any
// amount of work. The zero Budget is spent. It is for one goroutine.
type Budget struct{ steps, text int }

// NewBudget returns the budget of one evaluation on an event of a size in bytes.
func NewBudget(size int) *Budget {
	return &Budget{minSteps + stepsPerByte*size, minText + textPerByte*size}
}

// Steps spends a number of looks at a value. The error is an [*InexactError].
func (b *Budget) Steps(n int) error {
	if b.steps -= n; b.steps < 0 {
		return Inexact("it takes more steps than the size of the event explains")
	}
	return nil
}

// Text spends a number of bytes of new text. The error is an [*InexactError].
func (b *Budget) Text(n int) error {
	if b.text -= n; b.text < 0 {
		return Inexact("it makes more text than the size of the event explains")
	}
	return nil
}
