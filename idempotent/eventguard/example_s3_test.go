package eventguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
)

// s3Change identifies a change of an object in whatever kind of notification. A sequencer
// comes with new and removed objects only; what tags an object, changes its ACL or
// restores it is known by the request that has done so, which S3 names as well.
var s3Change = idempotency.MustJMESPath(
	`Records[].[eventName, s3.bucket.name, s3.object.key, s3.object.sequencer || responseElements."x-amz-request-id"]`)

// Notifications of S3 in a queue. S3 sends a test event when notifications are set up,
// which has no records and so no key; and this consumer is for new objects only.
func Example_s3() {
	config := quiet
	config.Skip = func(payload []byte) bool {
		var test struct{ Event string }
		return json.Unmarshal(payload, &test) == nil && test.Event == "s3:TestEvent"
	}
	guard := exampleGuard(idempotent.Config{Key: s3Change})
	handler, err := eventguard.SQS(guard, config, func(_ context.Context, n events.S3Event, _ events.SQSMessage) error {
		change := n.Records[0] // S3 sends one a notification
		if !strings.HasPrefix(change.EventName, "ObjectCreated:") {
			return idempotent.ErrSkip
		}
		fmt.Println("thumbnail of", change.S3.Object.Key)
		return nil
	})
	if err != nil {
		panic(err)
	}
	notification := func(event, detail, request string) string {
		return fmt.Sprintf(`{"Records": [{"eventName": %q, "responseElements": {"x-amz-request-id": %q},
			"s3": {"bucket": {"name": "photos"}, "object": {"key": "cat.jpg"%s}}}]}`, event, request, detail)
	}
	created := notification("ObjectCreated:Put", `, "sequencer": "0055AED6DCD90281E5"`, "C3D13FE58DE4C810")
	var messages []events.SQSMessage
	for i, body := range []string{
		`{"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "photos", "RequestId": "5582815E1AEA5ADF", "HostId": "8cLeGAmw098X5cv4Zkwcmo8vvZa3eH3eKxsPzbB9wrR"}`,
		created, created,
		notification("ObjectTagging:Put", "", "79A59DF900B949E5"),
		notification("ObjectAcl:Put", "", "EA57BD9F8F8A4D7C"),
		notification("ObjectRestore:Completed", "", "8C4D3A7A6F4D9E10"),
	} {
		messages = append(messages, events.SQSMessage{MessageId: fmt.Sprint("m", i), Body: body})
	}
	fmt.Println(handler(context.Background(), events.SQSEvent{Records: messages}))
	// Output:
	// thumbnail of cat.jpg
	// {[]} <nil>
}
