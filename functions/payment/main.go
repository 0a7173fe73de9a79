// Command payment is the Lambda function behind POST /payments of an HTTP API. A
// payment whose request arrives twice is charged once.
package main

import "github.com/ikkai-go/idempotency/functions/internal/wiring"

func main() { wiring.Start(newFunction) }
