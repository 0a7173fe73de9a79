package storekit

import "github.com/ikkai-go/idempotency/persistence"

const (
	// mostKeys is how many records a part has at most.
	mostKeys = 100
	// firstKeys is how many the first part has, when nothing is known of their sizes yet.
	firstKeys = 10
	// mostRead is how much ReadInParts reads, in bytes of results, steps and events, but for the
	// first part, which may have more.
	mostRead = 16 << 20
)

// ReadInParts is [BatchReader].ReadMany for a store whose requests bring as much as they are asked
// for. It asks read for each key once, in parts: ten keys at first, and then up to 100, as many as
// should fit into 16 MB together with what there is, going by the sizes so far. When nothing more
// does, the rest is left out; an error of read ends it. So what is held in memory at once does not
// grow with the number of keys.
func ReadInParts(keys []string, read func(part []string) ([]persistence.Record, error)) ([]persistence.Record, error) {
	keys = distinct(keys)
	var records []persistence.Record
	for asked, took, size := 0, 0, firstKeys; len(keys) > 0 && size > 0; {
		part := keys[:min(size, len(keys))]
		keys = keys[len(part):]
		found, err := read(part)
		records = append(records, found...)
		if err != nil {
			return records, err
		}
		for _, r := range found {
			took += held(r)
		}
		asked += len(part)
		size = mostKeys
		if each := took / asked; each > 0 {
			size = min(size, (mostRead-took)/each)
		}
	}
	return records, nil
}

// distinct returns the keys in their order, each once.
func distinct(keys []string) []string {
	seen, once := make(map[string]bool, len(keys)), make([]string, 0, len(keys))
	for _, key := range keys {
		if !seen[key] {
			seen[key], once = true, append(once, key)
		}
	}
	return once
}

// held is how much of a record may be large, in bytes.
func held(r persistence.Record) int {
	n := len(r.Result) + len(r.Event)
	for _, output := range r.Steps {
		n += len(output)
	}
	return n
}
