// Command payroll is the Lambda function that a schedule starts each month to pay the
// salaries. It may be killed half-way, and started any number of times: nobody is paid
// twice, and who is left is paid by the next start, which Lambda makes by itself.
package main

import "github.com/ikkai-go/idempotency/functions/internal/wiring"

func main() { wiring.Start(newFunction) }
