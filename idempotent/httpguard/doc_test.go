package httpguard_test

import (
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// Records outlive deployments: the stored form of a response stays.
func TestTheFormatOfAResponseStays(t *testing.T) {
	want := map[string]string{
		"REST API": `{"statusCode":201,"headers":{"Content-Type":"application/json","Location":"/payments/1"},` +
			`"multiValueHeaders":{"Link":["</a>; rel=\"a\"","</b>; rel=\"b\""]},"body":"{\"id\":1,\"run\":1,\"html\":\"<b>&\"}"}`,
		"load balancer with multi-value headers": `{"statusCode":201,"statusDescription":"as the handler says",` +
			`"multiValueHeaders":{"Content-Type":["application/json"],"Link":["</a>; rel=\"a\"","</b>; rel=\"b\""],"Location":["/payments/1"]},` +
			`"body":"{\"id\":1,\"run\":1,\"html\":\"<b>&\"}"}`,
		"net/http": `{"statusCode":201,"multiValueHeaders":{"Content-Type":["application/json"],` +
			`"Link":["</a>; rel=\"a\"","</b>; rel=\"b\""],"Location":["/payments/1"]},"body":"{\"id\":1,\"run\":1,\"html\":\"<b>&\"}"}`,
	}
	throughEveryShape(t, func(t *testing.T, s shape) {
		store := persistence.NewMemory()
		handle := s.serve(s.newAPI(t, store, idempotent.Config{}, httpguard.Config{}), createdBy)
		handle.send(t.Context(), key("a", ""))
		if got := string(store.Records()[0].Result); want[s.name] != "" && got != want[s.name] {
			t.Errorf("the record has\n%s, want\n%s", got, want[s.name])
		}
	})
}

// A record of one shape is replayed through any other: an API may move.
func TestARecordOfOneShapeIsReplayedThroughAnother(t *testing.T) {
	for _, first := range shapes {
		t.Run(first.name, func(t *testing.T) {
			api := first.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
			first.serve(api, createdBy).send(t.Context(), key("a", "{}"))
			for _, second := range shapes {
				a := second.serve(api, createdBy).send(t.Context(), key("a", "{}"))
				links := strings.ReplaceAll(strings.Join(a.header["Link"], ","), ", ", ",")
				if !a.replayed() || a.status != 201 || a.header.Get("Location") != "/payments/1" || links != `</a>; rel="a",</b>; rel="b"` {
					t.Errorf("through the %s: %d %v", second.name, a.status, a.header)
				}
			}
		})
	}
}
