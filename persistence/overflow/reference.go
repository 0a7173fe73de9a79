package overflow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// form marks the envelopes of this package, and their version.
const (
	family = "overflow/"
	form   = family + "1"
)

// reference stands for a result in its record. Where the blob is, is not in it: that
// follows from the record.
type reference struct {
	digest [sha256.Size]byte
	length int64
}

// written is a reference as it is stored.
type written struct {
	SHA256 string `json:"sha256"`
	Length int64  `json:"length"`
}

func referTo(result []byte) reference {
	return reference{digest: sha256.Sum256(result), length: int64(len(result))}
}

func (r reference) encode() []byte {
	text, err := json.Marshal(written{hex.EncodeToString(r.digest[:]), r.length})
	if err != nil {
		panic(err) // text and a number always encode
	}
	return storekit.Envelope(form, text)
}

// readReference reads a record's result. It is no reference where it is the result
// itself, or in the envelope of somebody else.
func readReference(result []byte) (r reference, is bool, err error) {
	got, text, ok := storekit.OpenEnvelope(result)
	switch {
	case !ok || !strings.HasPrefix(got, family):
		return r, false, nil
	case got != form:
		return r, true, fmt.Errorf("%w: a reference to a result in the form %q", persistence.ErrUnreadable, got)
	}
	var w written
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&w); err != nil {
		return r, true, fmt.Errorf("%w: the reference to a result: %w", persistence.ErrUnreadable, err)
	}
	digest, err := hex.DecodeString(w.SHA256)
	if err != nil || len(digest) != len(r.digest) || w.Length < 0 {
		return r, true, fmt.Errorf("%w: the reference to a result: %q", persistence.ErrUnreadable, text)
	}
	return reference{digest: [sha256.Size]byte(digest), length: w.Length}, true, nil
}

// check returns [ErrChanged] for a content that is not what is referred to.
func (r reference) check(content []byte) error {
	if referTo(content) != r {
		return ErrChanged
	}
	return nil
}
