package operate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// Function is a Lambda function to send an event to.
type Function struct {
	// Name, ARN or Name:alias.
	Name string
	// Endpoint of Lambda; one's own for the runtime interface emulator.
	Endpoint string
}

// maxAnswer is how much of an answer is read: Lambda's are no longer than 6 MB.
const maxAnswer = 7 << 20

// Invoke sends an event to resume a record, or nothing, and waits for the function's end. It is one request
// (lambda:InvokeFunction). The error says that the function has failed, and as what; what it has answered is not quoted.
//
// It goes with the record's key, so that a guard which finds another one in the event does not run
// it, and with the tenant whose environment Lambda has to take.
func (f Function) Invoke(ctx context.Context, o *Opened, shown records.Record, event []byte) error {
	address := cmp.Or(f.Endpoint, o.endpoint("lambda")) + "/2015-03-31/functions/" + url.PathEscape(f.Name) + "/invocations"
	header := http.Header{"X-Amz-Client-Context": {records.ClientContext(shown.Key)}}
	if shown.Tenant != "" {
		header.Set("X-Amz-Tenant-Id", shown.Tenant)
	}
	request, err := o.signed(ctx, "lambda", address, header, event)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("invoking %s: %w; whether it has run is not known", f.Name, err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)); err != nil {
		return fmt.Errorf("invoking %s: its answer broke off (%w); whether it has run is not known", f.Name, err)
	}
	switch failed := response.Header.Get("X-Amz-Function-Error"); {
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("invoking %s: Lambda has refused it with %s (%s)", f.Name, response.Status, cmp.Or(response.Header.Get("X-Amzn-Errortype"), "no reason given"))
	case failed != "":
		return fmt.Errorf("%s has failed (%s); its log says why", f.Name, failed)
	}
	return nil
}
