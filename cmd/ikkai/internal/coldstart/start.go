package coldstart

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/coldstart/functions/payment"
	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/figures"
	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/rie"
)

// times are what was measured of one function. The n-th of each is of the same
// round.
type times struct {
	poll       figures.Durations // from the start of the process to its first request for an event
	invocation figures.Durations // from then to its answer
	answer     figures.Durations // from the start of the process to its answer
	cpu        figures.Durations // of the process, until it is ready for the next event
	emulated   figures.Durations // from an event that comes to an environment without a process, to the answer
}

// starter starts functions, each with an order of its own.
type starter struct {
	emulator  string // path
	logs      string // folder
	variables map[string]string
	cpu       cpu // of the processes that it starts itself
}

// process starts a function with a Runtime API of its own.
func (s *starter) process(ctx context.Context, f *function) (err error) {
	ctx, cancel := context.WithTimeout(ctx, functionTimeout)
	defer cancel()
	event, receipt, err := newOrder()
	if err != nil {
		return err
	}
	api, err := serveRuntimeAPI(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, api.close()) }()
	group, err := s.cpu.group()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, group.remove()) }()
	var printed bytes.Buffer
	command := s.command(ctx, group, f, api)
	command.Stdout, command.Stderr = &printed, &printed
	kill := func() error { return errors.Join(group.lift(), command.Process.Kill()) }
	command.Cancel = kill
	started, err := group.start(command)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // killed, in the end
	}()
	polled := receive(api.polls, ended)
	if s.cpu == smallAfterInit {
		err = group.limit()
	}
	api.events <- event
	answered, ready := receive(api.answers, ended), receive(api.polls, ended)
	_ = kill() // an error if it has ended already
	<-ended
	if err != nil {
		return err
	}
	if ready.IsZero() {
		return errors.Join(fmt.Errorf("the process ended: %v, having printed %q", command.ProcessState, printed.Bytes()), ctx.Err())
	}
	if err := answered.check(receipt); err != nil {
		return err
	}
	f.measured.poll = append(f.measured.poll, polled.Sub(started))
	f.measured.invocation = append(f.measured.invocation, answered.at.Sub(polled))
	f.measured.answer = append(f.measured.answer, answered.at.Sub(started))
	f.measured.cpu = append(f.measured.cpu, command.ProcessState.UserTime()+command.ProcessState.SystemTime())
	return nil
}

// command is the function's process with its own settings only.
func (s *starter) command(ctx context.Context, group *throttle, f *function, api *runtimeAPI) *exec.Cmd {
	command := group.command(ctx, f.binary)
	command.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + api.address, "AWS_LAMBDA_FUNCTION_NAME=" + f.name}
	for _, settings := range []map[string]string{s.variables, f.variables} {
		for variable, value := range settings {
			command.Env = append(command.Env, variable+"="+value)
		}
	}
	return command
}

// receive returns the zero value if the process ends instead.
func receive[T any](from <-chan T, ended <-chan struct{}) (received T) {
	select {
	case received = <-from:
	case <-ended:
	}
	return received
}

// emulated has AWS's emulator start a function, as it does at the first event.
func (s *starter) emulated(ctx context.Context, f *function) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("in the emulator: %w", err)
		}
	}()
	event, receipt, err := newOrder()
	if err != nil {
		return err
	}
	environment, err := rie.Start(ctx, s.emulator, rie.Function{
		Name: f.name, Binary: f.binary, Timeout: functionTimeout, Variables: s.variables,
	}, filepath.Join(s.logs, f.name+".log"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()
	sent := time.Now()
	body, err := environment.Invoke(ctx, event)
	if err != nil {
		return err
	}
	f.measured.emulated = append(f.measured.emulated, time.Since(sent))
	return answer{body: body}.check(receipt)
}

// newOrder returns an event that no function has seen, and the answer to it.
func newOrder() (event, receipt []byte, err error) {
	order := payment.Order{PaymentID: rand.Text(), Amount: 1205}
	if event, err = json.Marshal(order); err != nil {
		return nil, nil, err
	}
	receipt, err = json.Marshal(payment.Receipt{PaymentID: order.PaymentID, Charged: order.Amount})
	return event, receipt, err
}

// check returns an error unless the function has answered with the receipt: only
// then has it done all that is to be measured.
func (a answer) check(receipt []byte) error {
	if !bytes.Equal(a.body, receipt) {
		return fmt.Errorf("the function answered %s instead of %s", a.body, receipt)
	}
	return nil
}
