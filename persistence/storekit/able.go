package storekit

import "github.com/ikkai-go/idempotency/persistence"

// Able returns an optional ability of a store, such as [persistence.Renewer] or
// [Transactor], and whether it has it. A store in front of others, which tells by a method
// Unwrap what is behind it ([Front.Unwrap]), has an ability only if all of them have it.
func Able[Ability any](store persistence.Store) (Ability, bool) {
	ability, ok := store.(Ability)
	for behind := store; ok; {
		front, wraps := behind.(interface{ Unwrap() persistence.Store })
		if !wraps {
			return ability, true
		}
		behind = front.Unwrap()
		_, ok = behind.(Ability)
	}
	var none Ability
	return none, false
}
