package redisstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence"
)

var (
	// errContended ends an operation whose record kept changing under it.
	errContended = errors.New("the record kept changing")
	// errSwept ends an operation that the server can't protect.
	errSwept = errors.New("the server removed the record at once, because by its clock it has long expired: the clocks differ")
)

// fault translates what a request came back with.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	if answered(err, wrongType) {
		err = fmt.Errorf("%w: %w", persistence.ErrUnreadable, err)
	}
	return &persistence.Fault{Op: op, Retryable: retryable(err), Err: err}
}

const (
	wrongType = "WRONGTYPE" // the key is no hash
	noScript  = "NOSCRIPT"  // the server has not been told the script's text yet
)

// passing are the codes of answers from a server, or of a cluster, that may do the
// same request later: it starts, is a replica by now, has lost its master, is being
// moved, has no memory, disk, replica or connection left, or is busy.
var passing = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "MOVED", "ASK", "TRYAGAIN",
	"OOM", "MISCONF", "NOREPLICAS", "BUSY", "ERR max number of clients reached",
}

// retryable tells whether the same request may succeed later: not where Redis has
// refused it, as for NOAUTH, WRONGPASS and NOPERM.
func retryable(err error) bool {
	if errors.Is(err, persistence.ErrUnreadable) || errors.Is(err, errSwept) {
		return false
	}
	_, refused := errors.AsType[redis.Error](err)
	return !refused || answered(err, passing...)
}

// answered tells whether an error is an answer of Redis with one of some codes. An
// answer begins with its code; one that ended a script has it after a dash, or a
// colon, in servers older than Redis 7.
func answered(err error, codes ...string) bool {
	answer, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	message := answer.Error()
	for _, code := range codes {
		if strings.HasPrefix(message, code) || strings.Contains(message, "-"+code+" ") || strings.Contains(message, ": "+code+" ") {
			return true
		}
	}
	return false
}
