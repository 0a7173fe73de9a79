package demo

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func TestEachEnvironmentIsChargedWithItsOwnRequests(t *testing.T) {
	s := emptyStage(t)
	entrances, mux := &meters{db: s.db}, http.NewServeMux()
	meterOf := map[string]*meter{"/a": {meters: entrances}, "/b": {meters: entrances}}
	for path, m := range meterOf {
		mux.Handle(path, m)
	}
	server := httptest.NewServer(mux)
	defer server.Close()
	get := func(path string) {
		client := s.db.Client(func(o *dynamodb.Options) {
			o.BaseEndpoint = aws.String(server.URL + path)
			o.HTTPClient = server.Client()
		})
		_, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(payment.table), Key: item{"pk": text(path)}})
		if err != nil {
			t.Error(err)
		}
	}
	want := map[string]int{"/a": 20, "/b": 5}
	var group sync.WaitGroup
	for path, times := range want {
		for range times {
			group.Go(func() { get(path) })
		}
	}
	group.Wait()
	for path, times := range want {
		taken := meterOf[path].take()
		if len(taken) != times {
			t.Errorf("%s is charged with %d requests instead of %d", path, len(taken), times)
		}
		for _, r := range taken {
			if !slices.Equal(r.Keys, []string{"pk=" + path}) {
				t.Errorf("%s is charged with a request for %s", path, r.Keys)
			}
		}
		if again := meterOf[path].take(); len(again) != 0 {
			t.Errorf("%s is charged twice: %v", path, again)
		}
	}
}
