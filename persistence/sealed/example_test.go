package sealed_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sealed"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// In a function, the secret comes from a secret store, and the store behind is a
// dynamostore.
func ExampleNew() {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	sealer, err := sealed.NewAES(sealed.Key{ID: "2026-03", Secret: secret})
	if err != nil {
		panic(err)
	}
	table := persistence.NewMemory()
	store, err := sealed.New(table, sealer, sealed.Config{})
	if err != nil {
		panic(err)
	}
	guard, err := idempotent.New(store, idempotent.Config{Operation: "payment", Key: idempotency.WholePayload()})
	if err != nil {
		panic(err)
	}
	charge := idempotent.Func(guard, func(_ context.Context, card string) (string, error) {
		return "charged " + card, nil
	})
	for range 2 {
		fmt.Println(charge(context.Background(), "4111"))
	}
	form, _, _ := storekit.OpenEnvelope(table.Records()[0].Result)
	fmt.Println("stored as", form)
	// Output:
	// charged 4111 <nil>
	// charged 4111 <nil>
	// stored as sealed/1
}

// kms has the shape of AWS KMS: GenerateDataKey and Decrypt, with an encryption
// context. Of *kms.Client they are GenerateDataKey with KeySpecAes256, whose answer has
// Plaintext and CiphertextBlob, and Decrypt.
type kms interface {
	GenerateDataKey(ctx context.Context, keyID string, encryptionContext map[string]string) (plaintext, blob []byte, err error)
	Decrypt(ctx context.Context, keyID string, blob []byte, encryptionContext map[string]string) (plaintext []byte, err error)
}

// dataKeys are those of one KMS key.
type dataKeys struct {
	kms   kms
	keyID string
}

func (d dataKeys) Generate(ctx context.Context, place sealed.Place) (key, wrapped []byte, err error) {
	return d.kms.GenerateDataKey(ctx, d.keyID, place.Context())
}

func (d dataKeys) Unwrap(ctx context.Context, wrapped []byte, place sealed.Place) ([]byte, error) {
	key, err := d.kms.Decrypt(ctx, d.keyID, wrapped, place.Context())
	if errors.Is(err, errInvalidCiphertext) { // *types.InvalidCiphertextException
		return nil, errors.Join(sealed.ErrForged, err)
	}
	return key, err
}

// With envelope encryption the key stays in AWS KMS, which logs who has opened what.
func ExampleNewEnvelope() {
	sealer := sealed.NewEnvelope(dataKeys{kms: newLocalKMS(), keyID: "alias/idempotency"})
	store, err := sealed.New(persistence.NewMemory(), sealer, sealed.Config{})
	if err != nil {
		panic(err)
	}
	guard, err := idempotent.New(store, idempotent.Config{Operation: "payment", Key: idempotency.WholePayload()})
	if err != nil {
		panic(err)
	}
	charge := idempotent.Func(guard, func(_ context.Context, card string) (string, error) {
		return "charged " + card, nil
	})
	for range 2 {
		fmt.Println(charge(context.Background(), "4111"))
	}
	// Output:
	// charged 4111 <nil>
	// charged 4111 <nil>
}

// localKMS is a KMS for one's own machine, with one key.
type localKMS struct{ *service }

var errInvalidCiphertext = errors.New("InvalidCiphertextException")

func newLocalKMS() localKMS { return localKMS{newService()} }

func (l localKMS) GenerateDataKey(ctx context.Context, _ string, encryptionContext map[string]string) (plaintext, blob []byte, err error) {
	return l.Generate(ctx, sealed.Place{Key: encryptionContext["idempotency_key"], Step: encryptionContext["step"]})
}

func (l localKMS) Decrypt(ctx context.Context, _ string, blob []byte, encryptionContext map[string]string) ([]byte, error) {
	key, err := l.Unwrap(ctx, blob, sealed.Place{Key: encryptionContext["idempotency_key"], Step: encryptionContext["step"]})
	if err != nil {
		return nil, errors.Join(errInvalidCiphertext, err)
	}
	return key, nil
}

// A place is associated data: what is sealed at one can't be opened at another.
func ExamplePlace() {
	result := sealed.Place{Key: "payment#1", Owner: "7f3a", Status: persistence.StatusCompleted}
	step := sealed.Place{Key: "payment#1", Step: "reserve"}
	fmt.Println(bytes.Equal(result.Bytes(), step.Bytes()))
	fmt.Println(step.Context())
	// Output:
	// false
	// map[idempotency_key:payment#1 step:reserve]
}
