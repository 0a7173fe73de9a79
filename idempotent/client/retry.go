package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// course is what has become of a request so far.
type course struct {
	began  time.Time
	sent   int // how often it was sent
	untold int // ... and nobody said when to come back
	rounds int // after which a pause is due
}

// left is how often the request may be sent, unless somebody says when to come back.
func (c *Config) left(so course) int {
	if c.Tries > 0 {
		return c.Tries - so.sent
	}
	return defaultTries - so.untold
}

// pause tells whether another try may come out differently, and how long to wait
// before it. It enters the try into the course of the request: how often that was sent,
// and that it was answered.
func (c *Config) pause(ctx context.Context, so *course, sent int, resp *http.Response, err error) (time.Duration, bool) {
	again, after, told := c.judge(ctx, resp, err)
	so.sent += sent
	so.rounds++
	if !told {
		so.untold += sent
	}
	if !again || ctx.Err() != nil || c.left(*so) <= 0 {
		return 0, false
	}
	pause := max(c.backoff(so.rounds), c.spread(after))
	now := time.Now()
	if deadline, ok := ctx.Deadline(); ok && !now.Add(pause).Before(deadline) {
		return 0, false
	} else if told && (!ok || c.Patience > 0) && now.Add(pause).Sub(so.began) > cmp.Or(c.Patience, defaultPatience) {
		return 0, false
	}
	return pause, true
}

// judge tells whether an outcome may be another one with the next try; how long the server
// asks to wait before that; and whether it, or the caller, has told to try again at all.
func (c *Config) judge(ctx context.Context, resp *http.Response, err error) (again bool, after time.Duration, told bool) {
	if resp != nil {
		after, told = retryAfter(resp.Header)
	}
	switch decision := c.decide(resp, err); {
	case decision == Return:
		return false, 0, false
	case decision == SendAgain:
		return true, after, true
	case err != nil:
		return passing(err), 0, false
	default:
		return unsettled(resp, told) && !c.isFinal(ctx, resp), after, told
	}
}

// decide asks the caller.
func (c *Config) decide(resp *http.Response, err error) (decision Decision) {
	if c.Decide != nil {
		peek(resp, func() { decision = c.Decide(resp, err) })
	}
	return decision
}

// peek lets somebody look at a response, who may read its body. That is put back.
func peek(resp *http.Response, look func()) {
	if resp == nil || resp.Body == nil {
		look()
		return
	}
	body, read := resp.Body, new(bytes.Buffer)
	resp.Body = io.NopCloser(io.TeeReader(body, read))
	look()
	resp.Body = body
	if read.Len() > 0 {
		resp.Body = closedOnce{io.MultiReader(read, body), body.Close}
	}
}

// unsettled tells whether a response speaks for the moment only.
func unsettled(resp *http.Response, told bool) bool {
	if resp == nil { // against its contract, and [http.Client] says so
		return false
	}
	switch resp.StatusCode {
	case http.StatusConflict:
		return told
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// spread makes a time that the server asks for a little longer: those that were told the
// same second don't all come back in it.
func (c *Config) spread(after time.Duration) time.Duration {
	if after <= 0 {
		return 0
	}
	longer := after + rand.N(c.FirstPause)
	switch {
	case longer < after: // more than a duration holds
		return after
	case after <= c.MaxPause:
		return min(longer, c.MaxPause)
	default:
		return longer
	}
}

// passing tells whether an error may be gone with the next try. There is no list
// of those that may: net/http has dozens, most of them unnamed.
func passing(err error) bool {
	var notTrusted *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	return !errors.As(err, &notTrusted) && !errors.As(err, &notTLS)
}

// backoff doubles with every try and leaves out up to a half.
func (c *Config) backoff(rounds int) time.Duration {
	longest := c.FirstPause
	for n := 1; n < rounds && longest < c.MaxPause; n++ {
		longest = min(c.MaxPause, 2*longest)
	}
	return longest/2 + rand.N(longest/2+1)
}

// retryAfter reads how long a response asks to wait (RFC 9110, section 10.2.3); not
// at all if it names a date gone by. What is neither seconds nor a date is taken for
// absent.
func retryAfter(h http.Header) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if date, err := http.ParseTime(value); err == nil {
		// The server's own clock, where it shows it, can't be wrong by its skew.
		now, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		return date.Sub(now), true
	}
	isDigit := func(c rune) bool { return c >= '0' && c <= '9' }
	if value == "" || strings.TrimFunc(value, isDigit) != "" {
		return 0, false
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || seconds > int64(math.MaxInt64/time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(seconds) * time.Second, true
}

// sleep returns the context's error at once where that ends first.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
