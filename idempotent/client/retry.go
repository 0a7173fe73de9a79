package client

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// pause tells whether another try may come out differently, and how long to wait
// before it.
func (c *Config) pause(ctx context.Context, tries int, resp *http.Response, err error) (time.Duration, bool) {
	asked, isAsked := time.Duration(0), false
	if resp != nil {
		asked, isAsked = retryAfter(resp.Header)
	}
	if ctx.Err() != nil || err != nil && !passing(err) || err == nil && !unsettled(resp, isAsked) {
		return 0, false
	}
	pause := c.backoff(tries)
	if isAsked {
		if asked > c.MaxPause {
			return 0, false
		}
		// Those that were told the same second don't all come back in it.
		pause = max(pause, min(c.MaxPause, asked+rand.N(c.FirstPause)))
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
		return 0, false
	}
	return pause, true
}

// unsettled tells whether a response speaks for the moment only.
func unsettled(resp *http.Response, isAsked bool) bool {
	if resp == nil { // against its contract, and [http.Client] says so
		return false
	}
	switch resp.StatusCode {
	case http.StatusConflict:
		return isAsked
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// passing tells whether an error may be gone with the next try. There is no list
// of those that may: net/http has dozens, most of them unnamed.
func passing(err error) bool {
	var notTrusted *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	return !errors.As(err, &notTrusted) && !errors.As(err, &notTLS)
}

// backoff doubles with every try and leaves out up to a half.
func (c *Config) backoff(tries int) time.Duration {
	longest := c.FirstPause
	for n := 1; n < tries && longest < c.MaxPause; n++ {
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
