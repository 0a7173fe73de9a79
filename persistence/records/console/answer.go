package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// maxRequest is how many bytes the page may ask with: a result that is settled by hand fits.
const maxRequest = 1 << 20

// answer serves what a function returns as JSON.
func answer(ask func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := ask(r)
		if err != nil {
			failed(w, err)
			return
		}
		send(w, http.StatusOK, out)
	})
}

// asked is answer for a function that is asked something in JSON. Only a page of this origin
// can send that without being asked first whether it may.
func asked[In any](ask func(*http.Request, In) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
			problem(w, http.StatusUnsupportedMediaType, "not_json", "The request must be application/json.")
			return
		}
		var in In
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&in); err != nil {
			problem(w, http.StatusBadRequest, "unusable", "The request can't be understood.")
			return
		}
		answer(func(r *http.Request) (any, error) { return ask(r, in) }).ServeHTTP(w, r)
	})
}

func send(w http.ResponseWriter, status int, body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		problem(w, http.StatusInternalServerError, "internal", fmt.Sprintf("The answer can't be encoded (%T).", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encoded) // whoever has gone does not miss it
}

// trouble is what went wrong, for the page and for scripts.
type trouble struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Now     *records.Record `json:"now,omitempty"` // the record as it is, where it has changed
}

func problem(w http.ResponseWriter, status int, code, message string) {
	send(w, status, trouble{Code: code, Message: message})
}

// usageError is a question that makes no sense.
type usageError struct{ problem string }

func (e *usageError) Error() string { return e.problem }

// failed says why something was not done. Errors of stores name keys and requests, never
// contents.
func failed(w http.ResponseWriter, err error) {
	out := trouble{Code: "failed", Message: err.Error()}
	status := http.StatusBadGateway
	if changed, ok := errors.AsType[*records.ChangedError](err); ok {
		out.Code, out.Now, status = "changed", changed.Now, http.StatusConflict
	}
	if _, ok := errors.AsType[*records.RunningError](err); ok {
		out.Code, status = "running", http.StatusConflict
	}
	if _, ok := errors.AsType[*records.RefusedError](err); ok {
		out.Code, status = "refused", http.StatusUnprocessableEntity
	}
	if _, ok := errors.AsType[*records.NotFoundError](err); ok {
		out.Code, status = "not_found", http.StatusNotFound
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		out.Code, status = "unusable", http.StatusBadRequest
	}
	send(w, status, out)
}
