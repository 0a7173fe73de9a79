package storekit_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// A store that asks a server for many records at once bounds what that brings.
func ExampleReadInParts() {
	keys := []string{"payment#1", "payment#2", "payment#1"}
	records, err := storekit.ReadInParts(keys, func(part []string) (found []persistence.Record, err error) {
		fmt.Println("asking for", part)
		for _, key := range part {
			found = append(found, persistence.Record{Key: key, Status: persistence.StatusCompleted})
		}
		return found, nil
	})
	fmt.Println(len(records), err)
	// Output:
	// asking for [payment#1 payment#2]
	// 2 <nil>
}

func TestPartsAreAsLargeAsTheirRecordsAllow(t *testing.T) {
	var keys []string
	for i := range 1000 {
		keys = append(keys, fmt.Sprint("key ", i))
	}
	for name, test := range map[string]struct {
		result int // bytes of each record
		parts  []int
	}{
		"small":              {10, []int{10, 100, 100, 100, 100, 100, 100, 100, 100, 100, 90}},
		"nothing is there":   {-1, []int{10, 100, 100, 100, 100, 100, 100, 100, 100, 100, 90}},
		"of 100 KB":          {100 << 10, []int{10, 100, 53}},
		"of 1 MB":            {1 << 20, []int{10, 6}},
		"too large together": {2 << 20, []int{10}},
	} {
		t.Run(name, func(t *testing.T) {
			var parts []int
			var asked []string
			records, err := storekit.ReadInParts(append(keys, keys...), func(part []string) (found []persistence.Record, err error) {
				parts, asked = append(parts, len(part)), append(asked, part...)
				for _, key := range part {
					if test.result >= 0 {
						found = append(found, persistence.Record{Key: key, Result: make([]byte, test.result)})
					}
				}
				return found, nil
			})
			if err != nil || !slices.Equal(parts, test.parts) || !slices.Equal(asked, keys[:len(asked)]) || test.result >= 0 && len(records) != len(asked) {
				t.Errorf("%d records in parts of %v, %v", len(records), parts, err)
			}
		})
	}
}

func TestAnErrorEndsTheParts(t *testing.T) {
	broken, keys := errors.New("broken"), make([]string, 0, 50)
	for i := range 50 {
		keys = append(keys, fmt.Sprint(i))
	}
	records, err := storekit.ReadInParts(keys, func(part []string) ([]persistence.Record, error) {
		if part[0] == "0" {
			return []persistence.Record{{Key: "0"}}, nil
		}
		return []persistence.Record{{Key: part[0]}}, broken
	})
	if !errors.Is(err, broken) || len(records) != 2 {
		t.Errorf("%v, %v", records, err)
	}
}
