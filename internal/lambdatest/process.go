package lambdatest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// patience is for how long a test waits for a process that works or hangs.
const patience = 20 * time.Second

// asFunction is the variable that has a test's binary be the function.
const asFunction = "LAMBDATEST_FUNCTION"

// Main is the TestMain of a function's package: the test's binary is the function's
// where [StartProcess] starts it again.
func Main(m *testing.M, function func()) {
	if os.Getenv(asFunction) != "" {
		function()
		return
	}
	os.Exit(m.Run())
}

// Process is a function in a process of its own: main as it is, with its logger, behind
// Lambda's Runtime API. What it prints is what CloudWatch Logs gets. It handles one
// event at a time.
type Process struct {
	t        *testing.T
	command  *exec.Cmd
	printed  bytes.Buffer
	timeout  time.Duration
	invoked  atomic.Int64
	events   chan []byte
	answers  chan []byte
	stopping chan struct{}
}

// StartProcess starts a process of the function whose package is tested, with the
// database and the log as in template.yaml, and with these variables. It ends with the
// test.
func StartProcess(t *testing.T, db *dynamotest.DB, timeout time.Duration, variables ...map[string]string) *Process {
	t.Helper()
	endpoint, err := db.Serve()
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{
		t: t, timeout: timeout,
		events: make(chan []byte), answers: make(chan []byte, 1), stopping: make(chan struct{}),
	}
	runtime := http.NewServeMux()
	runtime.HandleFunc("GET /2018-06-01/runtime/invocation/next", p.next)
	runtime.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", p.take)
	runtime.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", p.take)
	lambda := httptest.NewServer(runtime)
	p.command = exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // the test itself
	p.command.Stdout, p.command.Stderr = &p.printed, &p.printed
	p.command.Env = []string{
		asFunction + "=on",
		"AWS_LAMBDA_RUNTIME_API=" + lambda.Listener.Addr().String(),
		"AWS_LAMBDA_LOG_FORMAT=JSON", "AWS_LAMBDA_LOG_LEVEL=INFO",
		"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
		"AWS_REGION=" + dynamotest.Region, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
		"IDEMPOTENCY_TABLE=" + IdempotencyTable,
	}
	for _, more := range variables {
		for variable, value := range more {
			p.command.Env = append(p.command.Env, variable+"="+value)
		}
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.stop()
		lambda.Close()
	})
	return p
}

// Invoke sends an event and returns what the function answers, or its error.
func (p *Process) Invoke(event []byte) []byte {
	p.t.Helper()
	expired := time.After(patience)
	select {
	case p.events <- event:
	case <-expired:
		p.stop()
		p.t.Fatalf("the function takes no event; it has printed:\n%s", p.printed.Bytes())
	}
	select {
	case answer := <-p.answers:
		return answer
	case <-expired:
		p.stop()
		p.t.Fatalf("the function does not answer; it has printed:\n%s", p.printed.Bytes())
		return nil
	}
}

// Lines ends the process and returns the lines that it has printed.
func (p *Process) Lines() [][]byte {
	p.stop()
	return bytes.Split(bytes.TrimSpace(p.printed.Bytes()), []byte("\n"))
}

// stop ends the process, between two events, and waits for all that it prints.
func (p *Process) stop() {
	select {
	case <-p.stopping:
		return
	default:
	}
	close(p.stopping)
	_ = p.command.Process.Kill() // it may have ended by itself
	_ = p.command.Wait()
}

func (p *Process) next(w http.ResponseWriter, r *http.Request) {
	select {
	case event := <-p.events:
		id := "request-" + strconv.FormatInt(p.invoked.Add(1), 10)
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", id)
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:tested")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(p.timeout).UnixMilli(), 10))
		_, _ = w.Write(event) // a process that is gone gives no answer, either
	case <-p.stopping:
	case <-r.Context().Done():
	}
}

func (p *Process) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.WriteHeader(http.StatusAccepted)
	p.answers <- body
}
