// Package demo shows the toolkit at work on real functions: those of the folder
// functions, in several Lambda environments, each a process of AWS's runtime
// interface emulator, on the embedded DynamoDB. It sends the events that an HTTP
// API, a queue and a schedule would send, tells what happens, and checks every promise on the
// way.
//
// It needs Go and a clone of the repository, and neither Docker nor an AWS
// account. All servers listen on the loopback interface only.
package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/rie"
)

// Narrator tells the story to whoever watches. Its methods are called one at a
// time.
type Narrator interface {
	// Preparing: something that may take a while is begun before the story.
	Preparing(what string)
	Scene(Scene)
	Beat(Beat)
	Batch(Batch)
	Start(Start)
	Look(Look)
	Command(Command)
	Promise(Promise)
	Summary(Summary)
}

// ErrBroken matches the error of a demo that ran to its end and saw a promise
// broken.
var ErrBroken = errors.New("not as promised")

// Run shows the demo, in which an operator uses the command line. It ends everything it started before it returns, also when
// ctx ends early. Builds and logs go to the .cache folder of the clone.
func Run(ctx context.Context, narrator Narrator, operator Ikkai) (err error) {
	clone, err := rie.FindClone(ctx)
	if err != nil {
		return err
	}
	narrator.Preparing("building the functions and the Lambda emulator, which takes minutes the first time")
	programs, err := build(ctx, clone)
	if err != nil {
		return err
	}
	templates := make(map[function]event)
	for _, f := range functions {
		if f.event == "" {
			continue
		}
		if templates[f], err = readEvent(filepath.Join(string(clone), filepath.FromSlash(f.event))); err != nil {
			return err
		}
	}
	narrator.Preparing("starting DynamoDB and the Lambda environments")
	logs, err := clone.Logs("demo")
	if err != nil {
		return err
	}
	stage, err := openStage(ctx, programs, logs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.close()) }()

	show := newShow(narrator, stage, templates, operator)
	if err := show.play(ctx, story); err != nil {
		return fmt.Errorf("%w (logs: %s)", err, stage.logs)
	}
	summary := show.summarize()
	narrator.Summary(summary)
	if len(summary.Broken) > 0 {
		return fmt.Errorf("%w (logs: %s):\n\t%s", ErrBroken, stage.logs, strings.Join(summary.Broken, "\n\t"))
	}
	return nil
}

// programs are the paths of what runs in a Lambda environment.
type programs struct {
	functions map[function]string
	emulator  string
}

func build(ctx context.Context, clone rie.Clone) (p programs, err error) {
	p.functions = make(map[function]string)
	for _, f := range functions {
		if p.functions[f], err = clone.Build(ctx, "./functions/"+f.name); err != nil {
			return programs{}, err
		}
	}
	p.emulator, err = clone.BuildEmulator(ctx)
	return p, err
}
