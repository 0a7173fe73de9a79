package records

import (
	"encoding/base64"

	"github.com/ikkai-go/idempotency/internal/resumption"
)

// ClientContext is what to invoke a function with so that it resumes this record or nothing: the
// header X-Amz-Client-Context of Lambda's Invoke, or the field ClientContext in an AWS SDK. Where
// the function would run the event under another key, since its Operation or its Key have changed
// after the event was kept, its guard refuses it with *idempotent.KeyError: as a new request it
// would do again what the first run has done. Needs lambda:InvokeFunction, as any invocation.
func ClientContext(key string) string {
	return base64.StdEncoding.EncodeToString(resumption.ClientContext(key))
}
