// Package httpapi reads the requests and writes the responses of an API Gateway
// HTTP API, for the sample functions.
package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
)

// Body is the content of a request. An HTTP API delivers in base64 whatever is not
// declared as text or JSON.
func Body(request events.APIGatewayV2HTTPRequest) ([]byte, error) {
	if request.IsBase64Encoded {
		return base64.StdEncoding.DecodeString(request.Body)
	}
	return []byte(request.Body), nil
}

// JSON is a response with a JSON document.
func JSON(status int, document any) (events.APIGatewayV2HTTPResponse, error) {
	return respond(status, "application/json", document)
}

// Problem is a response with a problem document (RFC 9457), as the guard's own
// refusals are.
func Problem(status int, detail string) (events.APIGatewayV2HTTPResponse, error) {
	return respond(status, "application/problem+json", struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(status), status, detail})
}

func respond(status int, contentType string, document any) (events.APIGatewayV2HTTPResponse, error) {
	body, err := json.Marshal(document)
	return events.APIGatewayV2HTTPResponse{
		StatusCode: status,
		Headers:    map[string]string{"Content-Type": contentType},
		Body:       string(body),
	}, err
}
