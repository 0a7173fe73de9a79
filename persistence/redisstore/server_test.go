package redisstore_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence/redisstore"
)

// server is a Redis or Valkey of the test's own. It listens on a loopback port, has
// a directory of its own, and is killed when the test ends.
type server struct {
	binary  string
	port    int
	dir     string
	options []string
	process *exec.Cmd
}

// startServer starts a server with options of its command line.
func startServer(t *testing.T, options ...string) *server {
	t.Helper()
	s := &server{dir: t.TempDir(), options: options}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			s.binary = path
			break
		}
	}
	if s.binary == "" {
		t.Skip("NOT TESTED: there is neither redis-server nor valkey-server in the PATH; on Debian and Ubuntu: apt-get install redis-server")
	}
	t.Cleanup(s.kill)
	var said string
	for range 10 { // somebody else may take the free port first
		s.port = freePort(t)
		var ready bool
		if ready, said = s.start(t); ready {
			return s
		}
	}
	t.Fatalf("%s does not start:\n%s", s.binary, said)
	return nil
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start returns as soon as the server serves, or has ended. What it says until then
// is returned, too.
func (s *server) start(t *testing.T) (ready bool, said string) {
	t.Helper()
	s.process = exec.Command(s.binary, append([]string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", s.dir, "--save", "", "--loglevel", "notice",
	}, s.options...)...)
	output, err := s.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		fmt.Fprintln(&log, lines.Text())
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			go func() {
				for lines.Scan() { // a full pipe would stop the server
				}
			}()
			return true, log.String()
		}
	}
	s.kill()
	return false, log.String()
}

// kill ends the server as a crash does.
func (s *server) kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	s.process = nil
}

// restart kills the server and starts it again, with what it has on its disk.
func (s *server) restart(t *testing.T) {
	t.Helper()
	s.kill()
	if ready, said := s.start(t); !ready {
		t.Fatalf("%s does not start again:\n%s", s.binary, said)
	}
}

func (s *server) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// client returns a client of the server, as an application would make it.
func (s *server) client(t *testing.T, change ...func(*redis.Options)) *redis.Client {
	o := &redis.Options{Addr: s.address(), ContextTimeoutEnabled: true}
	for _, c := range change {
		c(o)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	return client
}

// impatient lets the client repeat a request at once.
func impatient(o *redis.Options) { o.MinRetryBackoff, o.MaxRetryBackoff = -1, -1 }

// cluster makes the server a cluster of one, and returns a client of it.
func (s *server) cluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	slots := make([]int, 16384)
	for i := range slots {
		slots[i] = i
	}
	if err := s.client(t).ClusterAddSlots(t.Context(), slots...).Err(); err != nil {
		t.Fatal(err)
	}
	// A new cluster waits for two seconds before it takes writes.
	patient := s.client(t, func(o *redis.Options) { o.MaxRetries = 1000 })
	if err := patient.Set(t.Context(), "any", "thing", 0).Err(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.address()}, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return client
}

// urlEnv names the server that the suites run against as well.
const urlEnv = "REDIS_URL"

// external returns a client of that server, and a prefix for keys that are removed
// when the test ends.
func external(t *testing.T) (client *redis.Client, prefix string, set bool) {
	t.Helper()
	url := os.Getenv(urlEnv)
	if url == "" {
		return nil, "", false
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.ContextTimeoutEnabled = true
	client = redis.NewClient(o)
	prefix = "idempotency-" + rand.Text() + ":"
	t.Cleanup(func() {
		ctx := context.Background() // the test's is over
		for left := client.Scan(ctx, 0, prefix+"*", 1000).Iterator(); left.Next(ctx); {
			client.Del(ctx, left.Val())
		}
		client.Close()
	})
	return client, prefix, true
}

func newStore(t *testing.T, client redisstore.Client, config redisstore.Config) *redisstore.Store {
	t.Helper()
	store, err := redisstore.New(client, config)
	if err != nil {
		t.Fatal(err)
	}
	return store
}
