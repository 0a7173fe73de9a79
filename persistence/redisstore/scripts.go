package redisstore

import (
	_ "embed" // the scripts are files

	"github.com/redis/go-redis/v9"
)

// The server carries a script out as one step that nothing comes between, and keeps
// its text for those who name it by digest. Scripts decide nothing about time or
// fingerprints. They ask who owns a record, or whether it is still as it was seen,
// and leave the rest to persistence.Claim.Judge.
//
// Each carries out a write command in any case. A server that was a primary and is a replica
// by now refuses it, so that no verdict comes from what that one remembers.
//
// All run on Redis 6: one key each, no functions, no flags. They take away before
// they add where they end something. A server that is at its memory limit refuses
// what adds only as the first write of a script, so it starts nothing new, and still
// records what has happened.
var (
	//go:embed acquire.lua
	acquireText string
	//go:embed complete.lua
	completeText string
	//go:embed release.lua
	releaseText string
	//go:embed checkpoint.lua
	checkpointText string
	//go:embed forget.lua
	forgetText string
	//go:embed outline.lua
	outlineText string // reads only, for lists

	acquire    = newScript(acquireText)
	complete   = newScript(completeText)
	release    = newScript(releaseText)
	checkpoint = newScript(checkpointText)
	forget     = newScript(forgetText)
)

// What acquire does to the record that was seen.
const (
	replace  = "replace"
	takeOver = "take over"
)

// kept is what the scripts for owners return where what was asked for is done, now or
// before; anything else means that the record is not the owner's, or not any more.
const kept = 1

// script is a script and the digest that the server knows it by.
type script struct{ text, digest string }

func newScript(text string) script {
	return script{text, redis.NewScript(text).Hash()}
}
