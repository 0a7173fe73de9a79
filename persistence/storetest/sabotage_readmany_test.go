package storetest_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// misreading replaces what is found of many.
func misreading(misread func(f *flawed, keys []string, found []record) ([]record, error)) func(f *flawed) {
	return func(f *flawed) {
		f.readMany = func(ctx context.Context, keys []string) ([]record, error) {
			found, err := f.right.ReadMany(ctx, keys)
			if err != nil {
				return found, err
			}
			return misread(f, keys, found)
		}
	}
}

// misread are ways to look at many records wrongly.
var misread = []sabotage{
	{
		"many are found under each other's keys",
		[]string{"read-many/finished", "read-many/absent", "read-many/far-apart", "read-many/repeated-keys", "read-many/odd-keys", "read-many/unreadable"},
		misreading(func(_ *flawed, _ []string, found []record) ([]record, error) {
			for i := range found {
				found[i].Key, found[0].Key = found[0].Key, found[i].Key
			}
			return found, nil
		}),
	},
	{
		"many results are in one buffer",
		[]string{"read-many/finished", "read-many/absent", "read-many/far-apart", "read-many/repeated-keys", "read-many/odd-keys", "read-many/unreadable"},
		misreading(func(_ *flawed, _ []string, found []record) ([]record, error) {
			for i := range found {
				found[i].Result = found[0].Result
			}
			if len(found) > 0 {
				found[0].Result = []byte("overwritten")
			}
			return found, nil
		}),
	},
	{
		"a look at many claims what is absent",
		[]string{"read-many/absent"},
		misreading(func(f *flawed, keys []string, found []record) ([]record, error) {
			for _, key := range keys {
				if f.find(key).Key == "" && persistence.Lease.CheckKey(persistence.Lease{Key: key}) == nil {
					f.right.Put(record{Key: key, Status: persistence.StatusProcessing, Owner: "reader", LeaseUntil: time.Unix(1<<33, 0), Attempt: 1})
				}
			}
			return found, nil
		}),
	},
	{
		"a look at many makes results of what is absent",
		[]string{"read-many/absent", "read-many/far-apart", "read-many/repeated-keys", "read-many/odd-keys"},
		misreading(func(f *flawed, keys []string, found []record) ([]record, error) {
			for _, key := range keys {
				if f.find(key).Key == "" {
					found = append(found, record{Key: key, Status: persistence.StatusCompleted})
				}
			}
			return found, nil
		}),
	},
	{
		"what is behind the first hundred is not read",
		[]string{"read-many/absent", "read-many/far-apart"},
		func(f *flawed) {
			f.readMany = func(ctx context.Context, keys []string) ([]record, error) {
				return f.right.ReadMany(ctx, keys[:min(100, len(keys))])
			}
		},
	},
	{
		"a record is shown as often as its key is asked for",
		[]string{"read-many/repeated-keys"},
		func(f *flawed) {
			f.readMany = func(ctx context.Context, keys []string) (found []record, err error) {
				for _, key := range keys {
					one, failed := f.right.ReadMany(ctx, []string{key})
					found, err = append(found, one...), failed
				}
				return found, err
			}
		},
	},
	{
		"an odd key fails all",
		[]string{"read-many/odd-keys"},
		misreading(func(_ *flawed, keys []string, found []record) ([]record, error) {
			if slices.ContainsFunc(keys, func(key string) bool { return persistence.Lease.CheckKey(persistence.Lease{Key: key}) != nil }) {
				return nil, &persistence.Fault{Op: "read", Err: persistence.ErrInvalid}
			}
			return found, nil
		}),
	},
	{
		"a record that can't be understood fails all",
		[]string{"read-many/unreadable"},
		misreading(func(_ *flawed, _ []string, found []record) ([]record, error) {
			for _, r := range found {
				if r.Status == "ODD" {
					return nil, &persistence.Fault{Op: "read", Err: fmt.Errorf("%w: %s", persistence.ErrUnreadable, r.Key)}
				}
			}
			return found, nil
		}),
	},
	{
		"what runs is taken for done",
		[]string{"read-many/unfinished"},
		misreading(func(_ *flawed, _ []string, found []record) ([]record, error) {
			for i := range found {
				if found[i].Status == persistence.StatusProcessing {
					found[i].Status = persistence.StatusCompleted
				}
			}
			return found, nil
		}),
	},
	{
		"what has expired is kept for ever",
		[]string{"read-many/finished", "read-many/absent", "read-many/far-apart", "read-many/repeated-keys", "read-many/odd-keys", "read-many/unreadable", "read-many/expired"},
		misreading(func(_ *flawed, _ []string, found []record) ([]record, error) {
			for i := range found {
				found[i].ExpiresAt = time.Time{}
			}
			return found, nil
		}),
	},
	{
		"a look at many heeds no context",
		[]string{"read-many/context"},
		func(f *flawed) {
			f.readMany = func(ctx context.Context, keys []string) ([]record, error) {
				return f.right.ReadMany(context.WithoutCancel(ctx), keys)
			}
		},
	},
}
