// Package scale plays load in virtual time: environments of Lambda with the real engine, the real store and the real SDK
// client, in front of an embedded DynamoDB that bears no more than AWS documents. It is where docs/scale.md has its figures
// from.
//
// A [Scenario] may be played at a share of its size: the load, the environments and what a partition bears shrink alike.
// A seed decides everything else, so that a scenario gives the same report every time. What AWS does not publish is
// assumed as the package's constants say.
package scale
