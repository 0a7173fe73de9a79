package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// show is a story being told.
type show struct {
	stage    *stage
	template event
	started  time.Time

	mu       sync.Mutex // guards the rest
	narrator Narrator
	promises []Promise
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

// send sends an order to an environment, as a client does through the HTTP API.
func (s *show) send(ctx context.Context, environment string, o Order) (Beat, error) {
	if ctx.Err() != nil {
		return Beat{}, context.Cause(ctx)
	}
	event, err := s.template.with(o)
	if err != nil {
		return Beat{}, err
	}
	e := s.stage.environments[environment]
	sent := time.Now()
	raw, err := e.Invoke(ctx, event)
	if err != nil {
		return Beat{}, fmt.Errorf("%s: %w", environment, err)
	}
	beat := Beat{
		At: Milliseconds(time.Since(s.started)), Took: Milliseconds(time.Since(sent)),
		Environment: environment, Sent: o, Answer: answerOf(raw), Requests: requestsOf(e.meter.take()),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.narrator.Beat(beat)
	return beat, nil
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

// sendWhenTold sends an order again that was answered "later", as soon as the
// answer says, and again if the next one says so too.
func (s *show) sendWhenTold(ctx context.Context, environment string, answered Beat) (Beat, error) {
	for range 3 {
		select {
		case <-time.After(time.Duration(answered.Answer.RetryAfter)):
		case <-ctx.Done():
			return Beat{}, context.Cause(ctx)
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
