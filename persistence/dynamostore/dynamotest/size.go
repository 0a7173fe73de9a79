package dynamotest

// Size limits, in bytes, of the DynamoDB developer guide ("Service, account, and table quotas").
const (
	maxItemSize        = 400 << 10
	maxHashKeySize     = 2048
	maxSortKeySize     = 1024
	maxPageSize        = 1 << 20
	maxTransactionSize = 4 << 20
	maxBatchSize       = 16 << 20
	maxExpressionSize  = 4 << 10
	maxNesting         = 32
)

// size is the item's size in bytes as DynamoDB counts it for limits and capacity: names and values.
func (i item) size() int {
	total := 0
	for name, v := range i {
		total += len(name) + v.size()
	}
	return total
}

// size is the value's size in bytes by the published rules ("DynamoDB item sizes and formats"). Numbers are
// stored as pairs of digits aligned to the decimal point, one byte each, plus one byte, plus one if negative.
func (a value) size() int {
	switch a.kind {
	case kindNumber:
		return a.number.size()
	case kindNull, kindBool:
		return 1
	case kindStringSet, kindNumberSet, kindBinarySet:
		total := 0
		for _, v := range a.list {
			total += v.size()
		}
		return total
	case kindList:
		total := 3
		for _, v := range a.list {
			total += 1 + v.size()
		}
		return total
	case kindMap:
		total := 3
		for name, v := range a.fields {
			total += 1 + len(name) + v.size()
		}
		return total
	default:
		return len(a.text)
	}
}

func (n number) size() int {
	if n.digits == "" {
		return 1
	}
	first, last := n.point-1, n.scale()
	bytes := 1 + floorHalf(first) - floorHalf(last) + 1
	if n.negative {
		bytes++
	}
	return bytes
}

// floorHalf is ⌊n/2⌋; Go's division truncates towards zero.
func floorHalf(n int) int { return n >> 1 }

// nesting is how many levels of lists and maps the value has; a scalar or set has none.
func (a value) nesting() int {
	deepest := -1
	switch a.kind {
	case kindList:
		for _, v := range a.list {
			deepest = max(deepest, v.nesting())
		}
	case kindMap:
		for _, v := range a.fields {
			deepest = max(deepest, v.nesting())
		}
	default:
		return 0
	}
	return max(deepest, 0) + 1
}
