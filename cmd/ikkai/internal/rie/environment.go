// Package rie runs Lambda functions of this module in AWS's runtime interface
// emulator, as processes on the loopback interface.
package rie

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// Function is what runs in an environment.
type Function struct {
	Name   string
	Binary string // path
	// Timeout is the function's Lambda time-out. The emulator takes whole seconds
	// only.
	Timeout   time.Duration
	Variables map[string]string // of its process environment
}

// Path is that of the events in the Lambda API that an emulator has.
const Path = "/2015-03-31/functions/function/invocations"

// Environment is one Lambda environment of a function: a process of the emulator,
// which starts the function at the first event, kills it at its time-out and
// starts it anew at the next event. Like the real thing it takes one event at a
// time.
type Environment struct {
	URL     string        // takes events
	Timeout time.Duration // of the function

	process *os.Process   // the emulator's; nil if it does not run here
	ended   chan struct{} // closed when the process has ended
}

// Start starts an emulator with the function's environment variables and nothing
// else, so that the user's own AWS settings stay out of it. What the emulator and
// the function print goes to the file log. The caller stops the environment.
func Start(ctx context.Context, emulator string, f Function, log string) (*Environment, error) {
	printed, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer printed.Close() // the process has it by then
	events, err := reserve(ctx)
	if err != nil {
		return nil, err
	}
	defer events.release() // the emulator listens there by then
	runtime, err := reserve(ctx)
	if err != nil {
		return nil, err
	}
	defer runtime.release()
	// Not ended by ctx but by Stop, in order.
	command := exec.CommandContext(context.WithoutCancel(ctx), emulator, //nolint:gosec // built by this module
		"--runtime-interface-emulator-address", events.address,
		"--runtime-api-address", runtime.address,
		"--log-level", "warn",
		f.Binary)
	command.Env = f.environ()
	command.Stdout, command.Stderr = printed, printed
	command.SysProcAttr = ownProcessGroup
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the emulator: %w", err)
	}
	e := &Environment{
		URL:     "http://" + events.address + Path,
		Timeout: f.Timeout,
		process: command.Process,
		ended:   make(chan struct{}),
	}
	go func() {
		defer close(e.ended)
		_ = command.Wait() // how it ended is of no interest; that it did is
	}()
	for _, address := range []string{events.address, runtime.address} {
		if err := e.listening(ctx, address); err != nil {
			return nil, errors.Join(fmt.Errorf("start the emulator: %w (log: %s)", err, log), e.Stop())
		}
	}
	return e, nil
}

func (f Function) environ() []string {
	environ := []string{
		"AWS_LAMBDA_FUNCTION_NAME=" + f.Name,
		"AWS_LAMBDA_FUNCTION_TIMEOUT=" + strconv.Itoa(int(f.Timeout/time.Second)),
	}
	for variable, value := range f.Variables {
		environ = append(environ, variable+"="+value)
	}
	return environ
}

// listening waits until the emulator takes connections at one of its addresses. It
// does not see to that itself: a function that starts fast enough finds nobody at
// the runtime's address, and dies of it.
func (e *Environment) listening(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var dialer net.Dialer
	for {
		if connection, err := dialer.DialContext(ctx, "tcp", address); err == nil {
			return connection.Close()
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-e.ended:
			return errors.New("the emulator has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// toEmulator reaches the environments, past any proxy.
var toEmulator = &http.Client{Transport: &http.Transport{}}

// Invoke sends an event and returns what Lambda answers. It does not end early
// with ctx: while an event is under way the emulator can't be stopped without
// leaving the function's process behind.
func (e *Environment) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.Timeout+10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(event))
	if err != nil {
		return nil, err
	}
	response, err := toEmulator.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// Kill ends the emulator and the function at once, by SIGKILL: what is under way
// stays as it is. An invocation that waits for its answer fails.
func (e *Environment) Kill(ctx context.Context) error {
	if e.process == nil {
		return nil
	}
	functions, err := children(ctx, e.process.Pid)
	failures := []error{err}
	for _, pid := range functions {
		if function, err := os.FindProcess(pid); err == nil {
			failures = append(failures, function.Kill())
		}
	}
	failures = append(failures, e.process.Kill())
	<-e.ended
	return errors.Join(failures...)
}

// Stop ends the emulator's process. The function's process ends by itself when
// the emulator, which it asks for its next event, is gone.
func (e *Environment) Stop() error {
	if e.process == nil {
		return nil
	}
	told := e.process.Signal(syscall.SIGTERM) // an error if it has ended already
	select {
	case <-e.ended:
		return nil
	case <-time.After(3 * time.Second):
		return errors.Join(errors.New("the emulator did not end when told to and was killed"), told, e.process.Kill())
	}
}
