package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// connect returns a client of an emulator, which takes any credentials: the one
// at url or, without a url, the embedded one over loopback HTTP.
func connect(ctx context.Context, url string) (client *dynamodb.Client, name string, stop func() error, err error) {
	name, stop = url, func() error { return nil }
	if url == "" {
		name = "embedded DynamoDB over loopback HTTP, in a process of its own"
		if url, stop, err = startServing(ctx); err != nil {
			return nil, "", nil, fmt.Errorf("start the embedded DynamoDB: %w", err)
		}
	}
	client = dynamodb.New(dynamodb.Options{
		Region:       dynamotest.Region,
		BaseEndpoint: aws.String(url),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	return client, name, stop, nil
}

// Serve serves the embedded DynamoDB on a free port, writes its URL as one line to
// out, and stops when in ends.
func Serve(in io.Reader, out io.Writer) error {
	db := dynamotest.Open()
	url, err := db.Serve()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, url)
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, db.Close())
}

// startServing has another process of this program serve. In one process the
// endpoint's garbage would be collected, and its goroutines scheduled, at the
// expense of the calls that are measured, which DynamoDB's are not.
func startServing(ctx context.Context) (url string, stop func() error, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	process := exec.CommandContext(ctx, program, "bench", "-serve") //nolint:gosec // the program is this one
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := process.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error { return errors.Join(in.Close(), process.Wait()) }
	url, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", nil, errors.Join(err, stop())
	}
	return strings.TrimSpace(url), stop, nil
}
