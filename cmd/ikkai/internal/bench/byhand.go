package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// byHand is what has to be written to do without the toolkit and lose none of what a call
// needs before it sends the same requests: a key from the event, and the two deadlines
// without which a lost answer is waited for until Lambda ends the process.
type byHand struct{ requests *sameRequests }

const (
	askingByHand = 5 * time.Second
	tryByHand    = time.Second
)

func (h byHand) putUpdate(ctx context.Context, event []byte) error {
	key, err := keyByHand(event)
	if err != nil {
		return err
	}
	if err := limited(ctx, func(ctx context.Context) error { return h.requests.sendPut(ctx, key) }); err != nil {
		return err
	}
	return limited(ctx, func(ctx context.Context) error { return h.requests.sendUpdate(ctx, key) })
}

func (h byHand) failingPut(ctx context.Context, event []byte) error {
	key, err := keyByHand(event)
	if err != nil {
		return err
	}
	return storedResult(limited(ctx, func(ctx context.Context) error { return h.requests.sendPut(ctx, key) }))
}

// keyByHand is the payment's key, as long as the toolkit's and another one.
func keyByHand(event []byte) (types.AttributeValue, error) {
	var payment struct {
		ID string `json:"payment_id"`
	}
	if err := json.Unmarshal(event, &payment); err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(payment.ID))
	return &types.AttributeValueMemberS{Value: "by_hand#" + hex.EncodeToString(hash[:])}, nil
}

func limited(ctx context.Context, send func(context.Context) error) error {
	asking, cancel := context.WithTimeout(ctx, askingByHand)
	defer cancel()
	trying, cancel := context.WithTimeout(asking, tryByHand)
	defer cancel()
	return send(trying)
}
