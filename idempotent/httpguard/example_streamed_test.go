package httpguard_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

func ExampleAPI_StreamedFunctionURL() {
	guard := idempotent.MustNew(persistence.NewMemory(), idempotent.Config{Operation: "summary"})
	api, err := httpguard.New(guard, httpguard.Config{Scope: httpguard.Unscoped()})
	if err != nil {
		panic(err)
	}
	handler := api.StreamedFunctionURL(func(context.Context, events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
		fmt.Println("the model runs")
		words := io.MultiReader(strings.NewReader("It rains. "), strings.NewReader("Take an umbrella."))
		return &events.LambdaFunctionURLStreamingResponse{StatusCode: 200, Body: words}, nil
	})
	event := events.LambdaFunctionURLRequest{RawPath: "/summaries", Headers: map[string]string{"idempotency-key": `"8e03978e"`}}
	event.RequestContext.HTTP.Method = "POST"
	for range 2 {
		response, err := handler(context.Background(), event)
		if err != nil {
			panic(err)
		}
		text, err := io.ReadAll(response.Body)
		fmt.Println(string(text), err)
		_ = response.Close() // as lambda.Start does
	}
	// Output:
	// the model runs
	// It rains. Take an umbrella. <nil>
	// It rains. Take an umbrella. <nil>
}

func ExampleAPI_StreamedRESTAPI() {
	guard := idempotent.MustNew(persistence.NewMemory(), idempotent.Config{Operation: "report"})
	api, err := httpguard.New(guard, httpguard.Config{Scope: httpguard.Unscoped()})
	if err != nil {
		panic(err)
	}
	handler := api.StreamedRESTAPI(func(context.Context, events.APIGatewayProxyRequest) (*events.APIGatewayProxyStreamingResponse, error) {
		return &events.APIGatewayProxyStreamingResponse{StatusCode: 200, Body: strings.NewReader("a,b,c")}, nil
	})
	event := events.APIGatewayProxyRequest{HTTPMethod: "POST", Path: "/reports", Headers: map[string]string{"Idempotency-Key": `"8e03978e"`}}
	for range 2 {
		response, err := handler(context.Background(), event)
		if err != nil {
			panic(err)
		}
		text, err := io.ReadAll(response.Body)
		fmt.Println(string(text), response.Headers["Idempotent-Replayed"], err)
	}
	// Output:
	// a,b,c  <nil>
	// a,b,c true <nil>
}
