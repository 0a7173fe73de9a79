package coldstart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/coldstart/functions/payment"
)

// behaviour is the environment variable that turns this test program into a Lambda
// function, and says which.
const behaviour = "BEHAVIOUR"

func TestMain(m *testing.M) {
	switch os.Getenv(behaviour) {
	case "":
		os.Exit(m.Run())
	case "charges":
		lambda.Start(payment.Charge)
	case "charges within limits":
		lambda.Start(chargeWithin(ownLimit()))
	case "charges too much":
		lambda.Start(func(ctx context.Context, o payment.Order) (payment.Receipt, error) {
			o.Amount++
			return payment.Charge(ctx, o)
		})
	case "fails":
		lambda.Start(func(payment.Order) error { return errors.New("the till is empty") })
	case "dies at the event":
		lambda.Start(func(payment.Order) {
			fmt.Fprintln(os.Stderr, "out of order")
			os.Exit(1)
		})
	case "hangs":
		lambda.Start(func(payment.Order) { <-make(chan struct{}) })
	case "does not start":
		fmt.Fprintln(os.Stderr, "no table")
		os.Exit(1)
	}
}

// startOf starts this test program as a function.
func startOf(ctx context.Context, t *testing.T, does string) (*function, error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &function{name: does, binary: program}
	s := &starter{variables: map[string]string{behaviour: does}}
	return f, s.process(ctx, f)
}

func TestAStartIsMeasuredInItsParts(t *testing.T) {
	f, err := startOf(t.Context(), t, "charges")
	if err != nil {
		t.Fatal(err)
	}
	m := f.measured
	if len(m.poll) != 1 || len(m.invocation) != 1 || len(m.answer) != 1 || len(m.cpu) != 1 {
		t.Fatalf("measured %+v, want one of each but the emulator", m)
	}
	if m.poll[0] <= 0 || m.invocation[0] <= 0 || m.cpu[0] <= 0 {
		t.Errorf("something took no time: %+v", m)
	}
	if m.poll[0]+m.invocation[0] != m.answer[0] {
		t.Errorf("the parts %v and %v do not make up %v", m.poll[0], m.invocation[0], m.answer[0])
	}
}

func TestWhatDoesNotAnswerAsItShouldIsNotMeasured(t *testing.T) {
	for does, want := range map[string]string{
		"charges too much":  `"charged":1206} instead of`,
		"fails":             "the till is empty",
		"dies at the event": "out of order",
		"does not start":    "no table",
	} {
		t.Run(does, func(t *testing.T) {
			f, err := startOf(t.Context(), t, does)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one that says %q", err, want)
			}
			if len(f.measured.poll)+len(f.measured.answer) > 0 {
				t.Errorf("it was measured all the same: %+v", f.measured)
			}
		})
	}
}

func TestAFunctionThatHangsIsEndedWithTheContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := startOf(ctx, t, "hangs"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v, want that of the context", err)
	}
}
