package idempotenttest

import (
	"fmt"
	"strings"
	"time"
)

// line is a line of a story: something that has happened, once or several times on end.
type line struct {
	at, until time.Duration // since the story began
	text      string
	times     int
}

// Tell adds a line to the story.
func (w *World) Tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isOver() || w.told {
		return
	}
	text, now := fmt.Sprintf(format, args...), time.Since(w.began).Round(time.Millisecond)
	if n := len(w.lines); n > 0 && w.lines[n-1].text == text {
		w.lines[n-1].until = now
		w.lines[n-1].times++
		return
	}
	w.lines = append(w.lines, line{at: now, until: now, text: text, times: 1})
}

// stopTelling ends the story, whatever still happens.
func (w *World) stopTelling() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = true
}

// Told is the story so far: numbered lines, each with the time since it began.
func (w *World) Told() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var text strings.Builder
	for i, l := range w.lines {
		fmt.Fprintf(&text, "%3d. %9s  %s", i+1, l.at, l.text)
		if l.times > 1 {
			fmt.Fprintf(&text, " (%d times, until %s)", l.times, l.until)
		}
		text.WriteByte('\n')
	}
	return text.String()
}
