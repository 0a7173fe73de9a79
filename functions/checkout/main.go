// Command checkout is the Lambda function behind POST /checkouts of an HTTP API:
// it reserves the goods, charges the card and confirms by e-mail. A checkout that
// arrives twice, or dies anywhere, goes on where it stopped, and the goods are back
// where the card is declined.
package main

import "github.com/ikkai-go/idempotency/functions/internal/wiring"

func main() { wiring.Start(newFunction) }
