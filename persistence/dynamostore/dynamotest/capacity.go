package dynamotest

import (
	"maps"
	"slices"
)

// Capacity is consumed capacity in DynamoDB's units: a read unit is 4 KB read consistently (half of that read
// eventually consistently), a write unit is 1 KB written; transactions cost double.
type Capacity struct {
	Read  float64 // read units
	Write float64 // write units
}

// Plus is the sum of both.
func (c Capacity) Plus(d Capacity) Capacity {
	return Capacity{Read: c.Read + d.Read, Write: c.Write + d.Write}
}

func (c Capacity) times(factor float64) Capacity {
	return Capacity{Read: c.Read * factor, Write: c.Write * factor}
}

const (
	readUnit  = 4 << 10
	writeUnit = 1 << 10
)

// consistentRead is the request member that makes a read strongly instead of eventually consistent.
type consistentRead bool

const strong consistentRead = true

// capacity is the cost of reading that many bytes at once.
func (c consistentRead) capacity(bytes int) Capacity {
	cost := Capacity{Read: units(bytes, readUnit)}
	if !c {
		return cost.times(0.5)
	}
	return cost
}

// transactional is the cost of reading that many bytes in a transaction.
func transactional(bytes int) Capacity { return strong.capacity(bytes).times(2) }

// writeCapacity is the cost of turning one item into the other, or of failing to: the larger of the two counts.
func writeCapacity(before, after item) Capacity {
	return Capacity{Write: units(max(before.size(), after.size()), writeUnit)}
}

// indexCapacity is the cost of carrying a change over to an index: nothing if its entry stays the same, two writes if
// the entry moves.
func indexCapacity(keys keySchema, before, after item) Capacity {
	switch {
	case document(before).equal(document(after)) && (before == nil) == (after == nil):
		return Capacity{}
	case before != nil && after != nil && !document(keys.of(before)).equal(document(keys.of(after))):
		return writeCapacity(before, nil).Plus(writeCapacity(nil, after))
	default:
		return writeCapacity(before, after)
	}
}

// units is how many units, at least one, that many bytes take.
func units(bytes, unit int) float64 {
	return float64(max(1, (bytes+unit-1)/unit))
}

// consumption is what one request consumed, by table and index.
type consumption map[string]*tableConsumption

type tableConsumption struct {
	shown   string // how the request names the table
	table   Capacity
	indexes map[*index]Capacity
}

func (c consumption) of(table string) *tableConsumption {
	name := plainTableName(table)
	if c[name] == nil {
		c[name] = &tableConsumption{shown: table, indexes: make(map[*index]Capacity)}
	}
	return c[name]
}

// add charges a table itself.
func (c consumption) add(table string, cost Capacity) {
	t := c.of(table)
	t.table = t.table.Plus(cost)
}

// addIndex charges an index; one that cost nothing is not mentioned.
func (c consumption) addIndex(table string, x *index, cost Capacity) {
	if cost != (Capacity{}) {
		indexes := c.of(table).indexes
		indexes[x] = indexes[x].Plus(cost)
	}
}

func (t tableConsumption) total() Capacity {
	total := t.table
	for _, cost := range t.indexes {
		total = total.Plus(cost)
	}
	return total
}

func (c consumption) total() Capacity {
	var total Capacity
	for _, t := range c {
		total = total.Plus(t.total())
	}
	return total
}

// wireCapacity is consumed capacity as a reply carries it.
type wireCapacity struct {
	Table         string               `json:"TableName,omitempty"`
	Units         float64              `json:"CapacityUnits"`
	Read          float64              `json:"ReadCapacityUnits,omitempty"`
	Write         float64              `json:"WriteCapacityUnits,omitempty"`
	TableShare    *unitCount           `json:"Table,omitempty"`
	GlobalIndexes map[string]unitCount `json:"GlobalSecondaryIndexes,omitempty"`
	LocalIndexes  map[string]unitCount `json:"LocalSecondaryIndexes,omitempty"`
}

type unitCount struct {
	Units float64 `json:"CapacityUnits"`
	Read  float64 `json:"ReadCapacityUnits,omitempty"`
	Write float64 `json:"WriteCapacityUnits,omitempty"`
}

func (c Capacity) count() unitCount { return unitCount{Units: c.Read + c.Write} }

// report is the consumption, table by table, in the detail that ReturnConsumedCapacity asks for.
func (c consumption) report(detail string) []wireCapacity {
	if detail != "TOTAL" && detail != "INDEXES" {
		return nil
	}
	var reports []wireCapacity
	for _, name := range slices.Sorted(maps.Keys(c)) {
		t := c[name]
		report := wireCapacity{Table: t.shown, Units: t.total().count().Units}
		if detail == "INDEXES" {
			report.TableShare = new(t.table.count())
			for x, cost := range t.indexes {
				shares := &report.GlobalIndexes
				if x.local {
					shares = &report.LocalIndexes
				}
				if *shares == nil {
					*shares = make(map[string]unitCount)
				}
				(*shares)[x.name] = cost.count()
			}
		}
		reports = append(reports, report)
	}
	return reports
}

// reportOne is the report of a request to one table; nil if none was asked for.
func (c consumption) reportOne(detail string) *wireCapacity {
	reports := c.report(detail)
	if len(reports) == 0 {
		return nil
	}
	return &reports[0]
}

// reportTransaction tells reads and writes apart, as only transactions do.
func (c consumption) reportTransaction(detail string) []wireCapacity {
	reports := c.report(detail)
	for i, report := range reports {
		t := c.of(report.Table)
		reports[i].Read, reports[i].Write = t.total().Read, t.total().Write
		if report.TableShare != nil {
			report.TableShare.Read, report.TableShare.Write = t.table.Read, t.table.Write
		}
	}
	return reports
}
