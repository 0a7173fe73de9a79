// Command register is the Lambda function behind POST /users of an HTTP API. A
// registration that arrives twice makes one account and sends one welcome mail, and
// no e-mail address has two accounts, whatever becomes of the idempotency records.
package main

import "github.com/ikkai-go/idempotency/functions/internal/wiring"

func main() { wiring.Start(newFunction) }
