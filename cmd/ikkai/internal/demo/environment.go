package demo

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
	"path/filepath"
	"syscall"
	"time"
)

// functionTimeout is the function's Lambda time-out. The emulator takes whole
// seconds only.
const functionTimeout = 2 * time.Second

// environment is one Lambda environment of the function: a process of the
// emulator, which starts the function at the first event, kills it at its
// time-out and starts it anew at the next event. Like the real thing it takes one
// event at a time.
type environment struct {
	name    string
	meter   *meter
	url     string
	process *os.Process   // the emulator's; nil before the start
	ended   chan struct{} // closed when the process has ended
}

// start starts the emulator with the function's environment variables and nothing
// else, so that the user's own AWS settings stay out of it. An environment that
// could not be started is stopped like any other.
func (e *environment) start(ctx context.Context, programs programs, variables map[string]string, logs string) error {
	events, runtime, err := freeAddresses(ctx)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(logs, e.name+".log"))
	if err != nil {
		return err
	}
	defer log.Close() // the process has it by then
	e.url = "http://" + events + "/2015-03-31/functions/function/invocations"
	// Not ended by ctx but by stop, in order.
	rie := exec.CommandContext(context.WithoutCancel(ctx), programs.emulator, //nolint:gosec // built by the demo itself
		"--runtime-interface-emulator-address", events,
		"--runtime-api-address", runtime,
		"--log-level", "warn",
		programs.function)
	for variable, value := range variables {
		rie.Env = append(rie.Env, variable+"="+value)
	}
	rie.Stdout, rie.Stderr = log, log
	rie.SysProcAttr = ownProcessGroup
	if err := rie.Start(); err != nil {
		return fmt.Errorf("start %s: %w", e.name, err)
	}
	e.process, e.ended = rie.Process, make(chan struct{})
	go func() {
		defer close(e.ended)
		_ = rie.Wait() // how it ended is of no interest; that it did is
	}()
	if err := e.listening(ctx, events); err != nil {
		return fmt.Errorf("start %s: %w (log: %s)", e.name, err, log.Name())
	}
	return nil
}

// freeAddresses returns two loopback addresses with ports that are free. The
// emulator has no way to choose its ports by itself.
func freeAddresses(ctx context.Context) (first, second string, err error) {
	var config net.ListenConfig
	var addresses [2]string
	for i := range addresses {
		listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", err
		}
		defer listener.Close() // only after both are known to differ
		addresses[i] = listener.Addr().String()
	}
	return addresses[0], addresses[1], nil
}

// listening waits until the emulator takes connections.
func (e *environment) listening(ctx context.Context, address string) error {
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

// invoke sends an event and returns what Lambda answers. It does not end early
// with ctx: while an event is under way the emulator can't be stopped without
// leaving the function's process behind.
func (e *environment) invoke(ctx context.Context, event []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), functionTimeout+10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(event))
	if err != nil {
		return nil, err
	}
	response, err := toEmulator.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.name, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.name, err)
	}
	return answer, nil
}

// stop ends the emulator's process. The function's process ends by itself when
// the emulator, which it asks for its next event, is gone.
func (e *environment) stop() error {
	if e.process == nil {
		return nil
	}
	told := e.process.Signal(syscall.SIGTERM) // an error if it has ended already
	select {
	case <-e.ended:
		return nil
	case <-time.After(3 * time.Second):
		return errors.Join(fmt.Errorf("%s did not end when told to and was killed", e.name), told, e.process.Kill())
	}
}
