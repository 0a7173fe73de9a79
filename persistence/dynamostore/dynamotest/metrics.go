package dynamotest

// collectionMetrics say how large an item collection is: all items of one partition key, in a table with local indexes and
// in those ("Item collections" of the developer guide).
type collectionMetrics struct {
	Key   wireItem   `json:"ItemCollectionKey"`
	Range [2]float64 `json:"SizeEstimateRangeGB"`
}

// metrics are those of the collection that a write changed; nil if its table has no local indexes, and so no limit on a
// collection's size.
func (ch change) metrics() *collectionMetrics {
	t := ch.table
	indexed := false
	for _, x := range t.indexes {
		indexed = indexed || x.local
	}
	if !indexed {
		return nil
	}
	// An estimate, as DynamoDB's own: the lower bound says nothing, the upper is 1 GB, and a collection of gigabytes is no
	// use of a database in memory.
	return &collectionMetrics{Key: t.keys.hashes().of(ch.key).wire(), Range: [2]float64{0, 1}}
}

// metricsByTable are the metrics of several writes, one of each collection.
func metricsByTable(changes []change) map[string][]collectionMetrics {
	byTable := make(map[string][]collectionMetrics)
	seen := make(map[string]bool)
	for _, ch := range changes {
		m := ch.metrics()
		if m == nil || seen[ch.table.name+" "+ch.table.keys.hashes().of(ch.key).String()] {
			continue
		}
		seen[ch.table.name+" "+ch.table.keys.hashes().of(ch.key).String()] = true
		byTable[ch.table.name] = append(byTable[ch.table.name], *m)
	}
	return byTable
}
