package httpguard_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent/httpguard"
)

// Two callers send the same key. Whose it is, the scope says: each gets an answer of its own.
func ExampleScope() {
	type caller = events.APIGatewayProxyRequestContext
	for _, of := range []struct {
		scope    httpguard.Scope
		ann, bob caller
	}{
		{
			httpguard.ByAuthorizer("principalId"),
			caller{Authorizer: map[string]any{"principalId": "ann"}},
			caller{Authorizer: map[string]any{"principalId": "bob"}},
		},
		{
			httpguard.ByAPIKey(),
			caller{Identity: events.APIGatewayRequestIdentity{APIKeyID: "key-of-ann"}},
			caller{Identity: events.APIGatewayRequestIdentity{APIKeyID: "key-of-bob"}},
		},
		{
			httpguard.ByIAMPrincipal(),
			caller{Identity: events.APIGatewayRequestIdentity{AccountID: "111122223333", Caller: "AIDAANN", User: "AIDAANN", UserArn: "arn:aws:iam::111122223333:user/ann"}},
			caller{Identity: events.APIGatewayRequestIdentity{AccountID: "111122223333", Caller: "AIDABOB", User: "AIDABOB", UserArn: "arn:aws:iam::111122223333:user/bob"}},
		},
	} {
		charges := 0
		pay := newAPI(httpguard.Config{Scope: of.scope}).RESTAPI(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			charges++
			return events.APIGatewayProxyResponse{StatusCode: 201, Body: fmt.Sprint("ch_", charges)}, nil
		})
		var told []string
		for _, who := range []caller{of.ann, of.bob, of.ann} {
			response, err := pay(context.Background(), events.APIGatewayProxyRequest{
				HTTPMethod: "POST", Path: "/payments", Headers: map[string]string{"Idempotency-Key": "8e03978e"}, RequestContext: who,
			})
			if err != nil {
				fmt.Println(err)
			}
			told = append(told, response.Body)
		}
		fmt.Println(told)
	}
	// Output:
	// [ch_1 ch_2 ch_1]
	// [ch_1 ch_2 ch_1]
	// [ch_1 ch_2 ch_1]
}
