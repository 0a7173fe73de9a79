package dynamotest

// naming is an input that names single items.
type naming interface{ named() []namedItem }

// namedItem is an item, or just its key, as a request names it.
type namedItem struct {
	table string
	key   wireItem
}

func (r putRequest) named() []namedItem    { return namedIn(r.Table, r.Item) }
func (r updateRequest) named() []namedItem { return namedIn(r.Table, r.Key) }
func (r deleteRequest) named() []namedItem { return namedIn(r.Table, r.Key) }
func (r checkRequest) named() []namedItem  { return namedIn(r.Table, r.Key) }
func (r getRequest) named() []namedItem    { return namedIn(r.Table, r.Key) }

func namedIn(table *string, key wireItem) []namedItem {
	if table == nil {
		return nil
	}
	return []namedItem{{*table, key}}
}

func (in *batchWriteInput) named() []namedItem {
	var all []namedItem
	for _, name := range in.subjects() {
		for _, r := range in.Requests[name] {
			if r.PutRequest != nil {
				all = append(all, namedItem{name, r.PutRequest.Item})
			}
			if r.DeleteRequest != nil {
				all = append(all, namedItem{name, r.DeleteRequest.Key})
			}
		}
	}
	return all
}

func (in *batchGetInput) named() []namedItem {
	var all []namedItem
	for _, name := range in.subjects() {
		for _, key := range in.Requests[name].Keys {
			all = append(all, namedItem{name, key})
		}
	}
	return all
}

func (in *transactWriteInput) named() []namedItem {
	var all []namedItem
	for _, a := range in.Items {
		for _, m := range a.members() {
			all = append(all, m.request.named()...)
		}
	}
	return all
}

func (in *transactGetInput) named() []namedItem {
	var all []namedItem
	for _, a := range in.Items {
		if a.Get != nil {
			all = append(all, a.Get.named()...)
		}
	}
	return all
}

// keysNamed are the keys of the items that a request names, as the log spells them. What fits no table is left out.
func (db *DB) keysNamed(in input) []string {
	names, ok := in.(naming)
	if !ok {
		return nil
	}
	var keys []string
	for _, named := range names.named() {
		t, known := db.lookUp(named.table)
		if !known {
			continue
		}
		key := make(wireItem, len(t.keys))
		for _, a := range t.keys {
			if v, ok := named.key[a.name]; ok {
				key[a.name] = v
			}
		}
		if decoded, err := key.item(); err == nil && t.keys.checkKey(decoded) == nil {
			keys = append(keys, decoded.String())
		}
	}
	return keys
}
