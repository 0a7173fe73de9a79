package dynamostore

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

// What a table refuses for being asked too much is not asked for in the same way by
// everybody, or those who hold records never get to settle them:
//
//   - A claim is given up after a few tries, in about a second: nothing has happened yet, and
//     its caller may come back. Before it is tried again it looks, since a record that is there
//     answers the call from the table's capacity to read, of which one item has several times as
//     much. So duplicates leave what one item bears of writes to those that hold it.
//   - A claim of a key that was throttled a moment ago looks first.
//   - Where one partition is asked too much for that as well, the claim is given up at once. It
//     would only keep its environment from other requests.
//   - A write of who holds the record is repeated until its time is over.
//
// docs/scale.md shows what comes of it.

const (
	// A claim that is throttled is tried so often. The pauses add up to about a second: those
	// that hold records are asked for theirs more often, and for longer.
	claimTries      = 4
	firstClaimPause = 200 * time.Millisecond
	// crowdedFor is for how long a key is taken for one that many ask for.
	crowdedFor = 10 * time.Second
	// maxCrowded bounds the memory that these keys take.
	maxCrowded = 256
)

// crowded are the keys whose claims were throttled a moment ago, by the clocks of the claims.
type crowded struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (k *crowded) has(key string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.Before(k.until[key])
}

// add takes a key in, unless there are too many: then all of the table is crowded.
func (k *crowded) add(key string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.until == nil {
		k.until = make(map[string]time.Time)
	}
	if _, known := k.until[key]; !known && len(k.until) >= maxCrowded {
		for other, until := range k.until {
			if !now.Before(until) {
				delete(k.until, other)
			}
		}
		if len(k.until) >= maxCrowded {
			return
		}
	}
	k.until[key] = now.Add(crowdedFor)
}

// applyClaim sends the write of a claim. Where that is throttled, what is there may
// be the answer as well: it is returned as if it had been in the way.
func (s *Store) applyClaim(ctx context.Context, c persistence.Claim, w conditional) (applied bool, found item, err error) {
	w.patience = request.untilThrottled
	watching, tried := watched(ctx)
	for try, pause := 1, firstClaimPause; ; try, pause = try+1, 2*pause {
		applied, found, err = s.apply(watching, w)
		if !throttled(err) {
			return applied, found, tried.judge(err)
		}
		s.crowded.add(c.Key, c.Now)
		found, hot := s.glance(ctx, c, !tried.unwritten())
		if found != nil {
			return false, found, nil
		}
		if hot != nil || try == claimTries || !rest(ctx, pause) {
			return false, nil, tried.judge(err)
		}
	}
}

// glanceIfCrowded looks what is there before anything is written, where that was too much for
// the table a moment ago.
func (s *Store) glanceIfCrowded(ctx context.Context, c persistence.Claim) (item, error) {
	if !s.crowded.has(c.Key, c.Now) {
		return nil, nil
	}
	found, hot := s.glance(ctx, c, false)
	if hot != nil {
		return nil, &unwrittenError{hot}
	}
	return found, nil
}

// glance returns what is there if that decides a claim, though it may be a moment old: a
// finished record, which does not change any more, and one of a run that was under way in that
// moment and keeps the claim out. Anything else the write has to find out. Where a try of the
// claim may have been applied, what was there before it is no answer, and the read is strongly
// consistent. Its error is that of a partition that is too hot to look.
func (s *Store) glance(ctx context.Context, c persistence.Claim, consistent bool) (item, error) {
	found, err := s.look(c.Key, aws.Bool(consistent)).once(ctx)
	if tooHot(err) {
		s.crowded.add(c.Key, c.Now)
		return nil, err
	}
	if err != nil || found == nil {
		return nil, nil //nolint:nilerr // the write finds out
	}
	record, judgement, err := s.judge(c, found)
	if err != nil {
		return nil, nil //nolint:nilerr // the write finds out, and tells
	}
	underWay := record.LeaseLive(c.Now) && !record.Mismatches(c.Fingerprint)
	if judgement == persistence.Owned || judgement == persistence.Held && (record.Status.Finished() || underWay) {
		return found, nil
	}
	return nil, nil
}

// tooHot tells whether a request was throttled because of its key, or those beside it, and not
// because the table has little capacity as a whole.
func tooHot(err error) bool {
	var reasons []types.ThrottlingReason
	if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		reasons = e.ThrottlingReasons
	}
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		reasons = e.ThrottlingReasons
	}
	return slices.ContainsFunc(reasons, func(r types.ThrottlingReason) bool {
		return strings.HasSuffix(aws.ToString(r.Reason), "KeyRangeThroughputExceeded")
	})
}

// ownPauses leaves it to this package to repeat what was throttled. The SDK
// would pause for up to two seconds, and then for up to four, of the five that a write has as
// a rule, and take it out of the quota of retries that all calls share.
func ownPauses() func(o *dynamodb.Options) {
	var last atomic.Pointer[unlessThrottled] // of the client, which has the same one each time as a rule
	return func(o *dynamodb.Options) {
		if o.Retryer == nil {
			return
		}
		own := last.Load()
		if own == nil || reflect.TypeOf(o.Retryer).Kind() != reflect.Pointer || own.Retryer != o.Retryer {
			own = &unlessThrottled{o.Retryer}
			last.Store(own)
		}
		o.Retryer = own
	}
}

// unlessThrottled is a retryer that does not retry what was throttled.
type unlessThrottled struct{ aws.Retryer }

// IsErrorRetryable implements [aws.Retryer].
func (r *unlessThrottled) IsErrorRetryable(err error) bool {
	return !throttled(err) && r.Retryer.IsErrorRetryable(err)
}

// GetAttemptToken implements [aws.RetryerV2], as the SDK does for those that do not.
func (r *unlessThrottled) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	if limiter, ok := r.Retryer.(aws.RetryerV2); ok {
		return limiter.GetAttemptToken(ctx)
	}
	return r.GetInitialToken(), nil
}
