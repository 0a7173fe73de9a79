package demo

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// victim sends requests until it is killed.
type victim struct {
	db     *dynamotest.DB
	sent   int
	killed bool
}

func (v *victim) Invoke(ctx context.Context, _ []byte) ([]byte, error) {
	for !v.killed {
		v.sent++
		input := &dynamodb.PutItemInput{TableName: aws.String(payroll.table), Item: item{"pk": text("transfer#1")}}
		if _, err := v.db.Client().PutItem(ctx, input); err != nil {
			return nil, err
		}
	}
	return nil, errGone
}

func (v *victim) Kill(context.Context) error {
	v.killed = true
	return nil
}

func (*victim) Stop() error { return nil }

func TestAnEnvironmentIsKilledAtItsRequest(t *testing.T) {
	s := newShowOf(t, nil)
	v := &victim{db: s.stage.db}
	s.stage.environments["env-17"].lambda = v
	s.crashAt(t.Context(), "env-17", dynamotest.Fault{Table: payroll.table, Operation: "PutItem", Nth: 3})
	death, err := s.start(t.Context(), "env-17")
	if err != nil {
		t.Fatal(err)
	}
	checkFinding(t, crashed(death.Work, death.Failure), "")
	if v.sent != 3 {
		t.Errorf("it has sent %d requests", v.sent)
	}
	if len(s.promises) > 0 {
		t.Errorf("it could not be killed: %+v", s.promises)
	}
}

func TestAStartOfThePayrollIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		answer actor
		want   Start
	}{
		"that has finished": {`{"month":"2026-11","employees":5,"paid":2,"paid_before":3,"left":0}`, Start{Month: "2026-11", Paid: 2, Before: 3}},
		"that has failed": {`{"errorType":"UnfinishedError","errorMessage":"1 left"}`,
			Start{Month: "2026-11", Failure: "UnfinishedError: 1 left"}},
		"of something else": {`{"statusCode":201}`, Start{Month: "2026-11"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newShowOf(t, c.answer).start(t.Context(), "env-18")
			if err != nil {
				t.Fatal(err)
			}
			got.Work = Work{}
			if got.Paid != c.want.Paid || got.Before != c.want.Before || got.Failure != c.want.Failure {
				t.Errorf("told is %+v, want %+v", got, c.want)
			}
		})
	}
}
