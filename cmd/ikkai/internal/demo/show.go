package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// show is a story being told.
type show struct {
	stage     *stage
	templates map[function]event
	started   time.Time
	operator  Ikkai
	posted    map[string]string // names of the messages sent, by their ids

	mu       sync.Mutex // guards the rest
	narrator Narrator
	promises []Promise
}

func newShow(narrator Narrator, stage *stage, templates map[function]event, operator Ikkai) *show {
	return &show{narrator: narrator, stage: stage, templates: templates, operator: operator, started: time.Now(), posted: make(map[string]string)}
}

// play tells the scenes in turn. It ends between two events if ctx does.
func (s *show) play(ctx context.Context, scenes []scene) error {
	for _, scene := range scenes {
		s.narrator.Scene(Scene{Title: scene.title})
		if err := scene.play(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// send sends a request to an environment, as a client does through the HTTP API.
func (s *show) send(ctx context.Context, environment string, sent Sent) (Beat, error) {
	if ctx.Err() != nil {
		return Beat{}, context.Cause(ctx)
	}
	event, err := s.templates[sent.function()].with(sent)
	if err != nil {
		return Beat{}, err
	}
	work, raw, err := s.invoke(ctx, environment, event)
	if err != nil {
		return Beat{}, err
	}
	beat := Beat{Work: work, Sent: sent, Answer: answerOf(raw)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.narrator.Beat(beat)
	return beat, nil
}

// invoke has an environment handle an event, and returns what Lambda answers.
func (s *show) invoke(ctx context.Context, environment string, event []byte) (Work, []byte, error) {
	e := s.stage.environments[environment]
	sent := time.Now()
	raw, err := e.Invoke(ctx, event)
	if e.crashed.Load() {
		raw, err = []byte(sigkill), nil // whoever has sent the event gets no answer
	}
	if err != nil {
		return Work{}, nil, fmt.Errorf("%s: %w", environment, err)
	}
	return Work{
		At: Milliseconds(time.Since(s.started)), Took: Milliseconds(time.Since(sent)),
		Environment: environment, Requests: requestsOf(e.meter.take()),
	}, raw, nil
}

// crashAt has an environment killed as soon as DynamoDB has carried out a request that
// it sends, and before it hears of that.
func (s *show) crashAt(ctx context.Context, environment string, request dynamotest.Fault) {
	request.Do = dynamotest.After(func(dynamotest.Request) {
		if err := s.stage.environments[environment].crash(ctx); err != nil {
			s.promise("the environment "+environment+" can be killed", err.Error())
		}
	})
	s.stage.db.Inject(request)
}

// start starts the payroll, as a schedule does.
func (s *show) start(ctx context.Context, environment string) (Start, error) {
	if ctx.Err() != nil {
		return Start{}, context.Cause(ctx)
	}
	work, raw, err := s.invoke(ctx, environment, november.event())
	if err != nil {
		return Start{}, err
	}
	start := Start{Work: work, Month: november.name(), Failure: failureOf(raw)}
	if start.Failure == "" {
		_ = json.Unmarshal(raw, &start) // an answer of another form pays nobody
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.narrator.Start(start)
	return start, nil
}

// look shows what is in a table.
func (s *show) look(l Look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.narrator.Look(l)
}

// untilUnlocked waits until no lease is left of the runs that have died.
func (s *show) untilUnlocked(ctx context.Context) error {
	return wait(ctx, time.Until(s.stage.lastLease())+time.Millisecond)
}

// sendBoth sends an order to two environments at the same time. Which of them
// comes first is up to them; the one that paid is returned first.
func (s *show) sendBoth(ctx context.Context, environments [2]string, o Order) (paid, other Beat, err error) {
	var (
		beats  [2]Beat
		failed [2]error
		group  sync.WaitGroup
	)
	for i, environment := range environments {
		group.Go(func() { beats[i], failed[i] = s.send(ctx, environment, o) })
	}
	group.Wait()
	if beats[1].Answer.Status == http.StatusCreated {
		beats[0], beats[1] = beats[1], beats[0]
	}
	return beats[0], beats[1], errors.Join(failed[:]...)
}

// sendWhenTold sends a request again that was answered "later", as soon as the
// answer says, and again if the next one says so too.
func (s *show) sendWhenTold(ctx context.Context, environment string, answered Beat) (Beat, error) {
	for range 3 {
		if err := wait(ctx, time.Duration(answered.Answer.RetryAfter)); err != nil {
			return Beat{}, err
		}
		var err error
		if answered, err = s.send(ctx, environment, answered.Sent); err != nil {
			return Beat{}, err
		}
		if answered.Answer.Status != http.StatusConflict {
			break
		}
	}
	return answered, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// promise notes whether a promise was kept: findings are what was found wrong,
// and empty ones are nothing.
func (s *show) promise(text string, findings ...string) {
	p := Promise{Text: text}
	for _, finding := range findings {
		if finding != "" {
			p.Broken = append(p.Broken, finding)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.promises = append(s.promises, p)
	s.narrator.Promise(p)
}
