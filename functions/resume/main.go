// Command resume is the Lambda function that a schedule starts every few minutes to look for
// requests that are stuck: given up after some of their steps, or run by a process that has died.
// It sends those again whose records keep their events, to the function that they were
// for, and tells a queue of the others.
package main

import "github.com/ikkai-go/idempotency/functions/internal/wiring"

func main() { wiring.Start(newFunction) }
