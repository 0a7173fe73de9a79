package sqlstore_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// server is a PostgreSQL server of the tests' own, in a directory of its own, on a unix
// socket in there.
type server struct {
	dir     string
	leash   io.Closer // the server ends when this is closed, which also this process's end does
	process *exec.Cmd
}

func TestMain(m *testing.M) {
	code := m.Run()
	if started != nil {
		started.stop()
	}
	os.Exit(code)
}

var (
	started *server
	start   = sync.OnceValue(func() error {
		var err error
		started, err = startServer()
		return err
	})
)

var errNotInstalled = errors.New("initdb and postgres are not installed")

// startedServer returns the URL of the server, which is started for the first who asks.
func startedServer(t testing.TB) string {
	t.Helper()
	switch err := start(); {
	case errors.Is(err, errNotInstalled):
		t.Skipf("NOT CHECKED on PostgreSQL: %v; apt-get install postgresql, or set %s", err, urlEnv)
	case err != nil:
		t.Fatal(err)
	}
	return "postgres:///postgres?user=postgres&host=" + started.dir
}

func startServer() (*server, error) {
	initdb, postgres, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sqlstore") // its path must be short, for the socket's sake
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	if err := s.start(initdb, postgres); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// binaries finds PostgreSQL in the PATH, or where Debian and its like keep it.
func binaries() (initdb, postgres string, err error) {
	initdb, errInit := exec.LookPath("initdb")
	postgres, errServe := exec.LookPath("postgres")
	if errInit == nil && errServe == nil {
		return initdb, postgres, nil
	}
	versions, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is right
	if len(versions) == 0 {
		return "", "", errNotInstalled
	}
	postgres = versions[len(versions)-1]
	return filepath.Join(filepath.Dir(postgres), "initdb"), postgres, nil
}

func (s *server) start(initdb, postgres string) error {
	somebody, err := s.notRoot()
	if err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	making := exec.Command(initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	making.SysProcAttr, making.Dir = somebody, s.dir
	if out, err := making.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", initdb, err, out)
	}
	// The shell waits for the end of its input, which is the end of this process at the
	// latest, and then ends the server and removes its directory.
	s.process = exec.Command("sh", "-c", `exec 3<&0
"$@" </dev/null & server=$!
read -r never <&3
kill -INT $server
wait $server
cd / && rm -rf "$0"`, s.dir, postgres, "-D", data, "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=300",
		"-c", "fsync=off", "-c", "deadlock_timeout=20ms")
	s.process.SysProcAttr, s.process.Dir = somebody, s.dir
	if s.leash, err = s.process.StdinPipe(); err != nil {
		return err
	}
	log, err := s.process.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	return untilReady(log)
}

// notRoot returns the credentials of somebody who may run the server, which root may not.
func (s *server) notRoot() (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, errUser := strconv.Atoi(account.Uid)
	gid, errGroup := strconv.Atoi(account.Gid)
	if err := errors.Join(errUser, errGroup, os.Chown(s.dir, uid, gid)); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// untilReady reads the server's log until that says so, and goes on reading after that.
func untilReady(log io.Reader) error {
	var text strings.Builder
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "ready to accept connections") {
			go io.Copy(io.Discard, log)
			return nil
		}
	}
	return fmt.Errorf("the server did not start: %s", &text)
}

func (s *server) stop() {
	s.leash.Close()
	s.process.Wait()
}
