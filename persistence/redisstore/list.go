package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// ListClient is what listing needs of a client in addition to [Client]. *redis.Client has it;
// of a *redis.ClusterClient its masters are asked, one after the other.
type ListClient interface {
	Scan(ctx context.Context, cursor uint64, match string, count int64) *redis.ScanCmd
	Pipelined(ctx context.Context, fn func(redis.Pipeliner) error) ([]redis.Cmder, error)
}

var (
	_ storekit.Lister    = (*Store)(nil)
	_ storekit.Forgetter = (*Store)(nil)
)

// List implements [storekit.Lister] with SCAN, which goes through all keys of the database, and
// a pipeline of one EVAL for each record. It has one segment, and no units. A record may be in
// two pages, as SCAN says, and in each of them once.
func (s *Store) List(ctx context.Context, q storekit.Query) (storekit.Page, error) {
	if q.Segment > 0 {
		return storekit.Page{}, nil
	}
	nodes, err := s.nodes(ctx)
	if err != nil {
		return storekit.Page{}, fault("list", err)
	}
	node, cursor, err := s.resume(nodes, q.Cursor)
	if err != nil {
		return storekit.Page{}, err
	}
	count := q.Limit
	if count <= 0 {
		count = scanCount
	}
	keys, next, err := nodes[node].Scan(ctx, cursor, literal(s.config.Prefix+q.Prefix)+"*", int64(count)).Result()
	if err != nil {
		return storekit.Page{}, fault("list", err)
	}
	slices.Sort(keys)
	page, err := s.outlines(ctx, nodes[node], slices.Compact(keys), q.Statuses)
	if err != nil {
		return storekit.Page{}, fault("list", err)
	}
	if next == 0 {
		node++
	}
	if next != 0 || node < len(nodes) {
		page.Cursor = strconv.Itoa(node) + ":" + strconv.FormatUint(next, 10)
	}
	return page, nil
}

// scanCount is how many keys a page looks at, about.
const scanCount = 500

// nodes are the servers that have the records, in a stable order.
func (s *Store) nodes(ctx context.Context) ([]ListClient, error) {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		client, ok := s.client.(ListClient)
		if !ok {
			return nil, fmt.Errorf("redisstore: %T has no Scan and Pipelined: %w", s.client, errors.ErrUnsupported)
		}
		return []ListClient{client}, nil
	}
	var mu sync.Mutex
	masters := make(map[string]ListClient)
	err := cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters[master.Options().Addr] = master
		return nil
	})
	var addresses []string
	for address := range masters {
		addresses = append(addresses, address)
	}
	slices.Sort(addresses)
	var nodes []ListClient
	for _, address := range addresses {
		nodes = append(nodes, masters[address])
	}
	if err == nil && len(nodes) == 0 {
		err = errors.New("the cluster has no masters")
	}
	return nodes, err
}

// resume reads a cursor: the node, and the server's own.
func (s *Store) resume(nodes []ListClient, cursor string) (node int, at uint64, err error) {
	if cursor == "" {
		return 0, 0, nil
	}
	first, second, _ := strings.Cut(cursor, ":")
	node, err = strconv.Atoi(first)
	if err == nil {
		at, err = strconv.ParseUint(second, 10, 64)
	}
	if err != nil || node < 0 || node >= len(nodes) {
		return 0, 0, fmt.Errorf("%w: the cursor %q is none of these servers", persistence.ErrInvalid, cursor)
	}
	return node, at, nil
}

// literal is a text as a pattern that only it matches.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "^", `\^`).Replace(text)
}

// outlines reads the records of keys, as far as a list shows them.
func (s *Store) outlines(ctx context.Context, node ListClient, keys []string, statuses []persistence.Status) (storekit.Page, error) {
	page := storekit.Page{Seen: len(keys)}
	if len(keys) == 0 {
		return page, nil
	}
	answers, err := node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range keys {
			p.Eval(ctx, outlineText, []string{key})
		}
		return nil
	})
	for i, answer := range answers {
		key := strings.TrimPrefix(keys[i], s.config.Prefix)
		command, ok := answer.(*redis.Cmd)
		if !ok || command.Err() != nil && !answered(command.Err(), wrongType) {
			return page, errors.Join(err, answer.Err())
		}
		found, err := fieldsOf(command.Result())
		if err == nil && len(found) == 0 {
			continue // it is gone by now
		}
		var record persistence.Record
		if err == nil {
			record, err = outline(key, found)
		}
		switch {
		case err != nil:
			page.Unreadable = append(page.Unreadable, storekit.Unreadable{Key: key, Err: err})
		case len(statuses) == 0 || slices.Contains(statuses, record.Status):
			page.Records = append(page.Records, record)
		}
	}
	return page, nil
}

// outline is decode of fields without a result.
func outline(key string, f fields) (persistence.Record, error) {
	if _, there := f[fieldResult]; !there && persistence.Status(f[fieldStatus]).Finished() && f[fieldEncoding] == "" {
		f[fieldResult] = ""
	}
	r, err := decode(key, f)
	r.Result = nil
	return r, err
}

// Forget implements [storekit.Forgetter].
func (s *Store) Forget(ctx context.Context, seen persistence.Record) error {
	if err := (persistence.Lease{Key: seen.Key}).CheckKey(); err != nil {
		return err
	}
	var lease any = ""
	if !seen.LeaseUntil.IsZero() {
		lease = millis(seen.LeaseUntil)
	}
	return s.asOwner(ctx, "forget", forget, seen.Key, seen.Owner, string(seen.Status), lease)
}
