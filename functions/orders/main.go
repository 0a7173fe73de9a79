// Command orders is the Lambda function that takes orders from an SQS queue. An
// order that arrives twice, delivered or sent again, is shipped once.
package main

import "github.com/ikkai-go/idempotency/functions/internal/wiring"

func main() { wiring.Start(newFunction) }
