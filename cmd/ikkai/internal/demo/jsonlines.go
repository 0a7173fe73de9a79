package demo

import (
	"encoding/json"
	"io"
)

// JSONLines tells the story to programs: one JSON object a line, whose "type" is
// preparing, scene, beat, batch, start, look, command, promise or summary.
type JSONLines struct {
	encoder *json.Encoder
}

// NewJSONLines returns a narrator that writes to w.
func NewJSONLines(w io.Writer) *JSONLines {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return &JSONLines{encoder: encoder}
}

// Preparing implements [Narrator].
func (j *JSONLines) Preparing(what string) {
	j.line(struct {
		Type string `json:"type"`
		What string `json:"what"`
	}{"preparing", what})
}

// Scene implements [Narrator].
func (j *JSONLines) Scene(scene Scene) {
	j.line(struct {
		Type string `json:"type"`
		Scene
	}{"scene", scene})
}

// Beat implements [Narrator].
func (j *JSONLines) Beat(beat Beat) {
	j.line(struct {
		Type string `json:"type"`
		Beat
	}{"beat", beat})
}

// Batch implements [Narrator].
func (j *JSONLines) Batch(batch Batch) {
	j.line(struct {
		Type string `json:"type"`
		Batch
	}{"batch", batch})
}

// Start implements [Narrator].
func (j *JSONLines) Start(start Start) {
	j.line(struct {
		Type string `json:"type"`
		Start
	}{"start", start})
}

// Look implements [Narrator].
func (j *JSONLines) Look(look Look) {
	j.line(struct {
		Type string `json:"type"`
		Look
	}{"look", look})
}

// Command implements [Narrator].
func (j *JSONLines) Command(command Command) {
	j.line(struct {
		Type string `json:"type"`
		Command
	}{"command", command})
}

// Promise implements [Narrator].
func (j *JSONLines) Promise(promise Promise) {
	j.line(struct {
		Type string `json:"type"`
		Kept bool   `json:"kept"`
		Promise
	}{"promise", len(promise.Broken) == 0, promise})
}

// Summary implements [Narrator].
func (j *JSONLines) Summary(summary Summary) {
	j.line(struct {
		Type string `json:"type"`
		Summary
	}{"summary", summary})
}

// line writes one line. A reader that is gone ends the program by a signal.
func (j *JSONLines) line(object any) { _ = j.encoder.Encode(object) }
