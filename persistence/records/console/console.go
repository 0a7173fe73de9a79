package console

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// Access is what somebody may do.
type Access int

const (
	// Forbidden may do nothing. The zero Access.
	Forbidden Access = iota
	// ReadOnly may look at records, and at their contents as far as [Config.Redact] leaves them.
	ReadOnly
	// ReadWrite may settle and forget records too.
	ReadWrite
)

// Part says which content of a record [Config.Redact] is asked about: "result", "event", "step/"
// and the name of a step, or, of a request that is being undone, "failure" and "compensation": the
// messages of why, and of a compensation that has failed.
type Part string

// Config says what a console shows and to whom. The zero value shows, and changes nothing.
type Config struct {
	// Title is shown at the top: the environment and the table, so that nobody takes one for
	// another. Defaults to "Idempotency records".
	Title string

	// Access says what somebody may do. Defaults to ReadOnly for everybody.
	Access func(*http.Request) Access

	// Who names somebody in the log of what was done. Defaults to nobody's name.
	Who func(*http.Request) string

	// Redact returns what may be shown of a content. Defaults to all of it. It must be safe
	// for concurrent use.
	Redact func(ctx context.Context, record records.Record, part Part, content []byte) []byte

	// PageSize is how many records are shown at once. Defaults to 100, and is at most 1000.
	PageSize int

	// MaxUnits bounds the read units that one request of the page consumes: a list, a count,
	// the overview. What was not read is said. Defaults to 2000; a unit is 8 KB of records,
	// read eventually consistent.
	MaxUnits float64

	// MaxBulk is how many records an action on all matches takes at most. Defaults to 10,000.
	MaxBulk int

	// PricePerMillion write units, in the currency of the reader, for the column of costs.
	// Defaults to none, and units are shown alone.
	PricePerMillion float64

	// Logger gets what was opened and done, and by whom. Defaults to [slog.Default] as it is
	// when something is logged.
	Logger *slog.Logger
}

// Console is the page and what it asks. Safe for concurrent use.
type Console struct {
	desk   *records.Desk
	config Config
	bulks  bulks
	mux    http.Handler
}

// ErrConfig matches what [New] and [Local] refuse.
var ErrConfig = errors.New("console: invalid configuration")

//go:embed page
var page embed.FS

// New returns a console for a desk. The error matches [ErrConfig].
func New(desk *records.Desk, config Config) (*Console, error) {
	switch {
	case desk == nil:
		return nil, fault("no desk")
	case config.PageSize < 0, config.PageSize > 1000:
		return nil, fault("Config.PageSize is not between 0 and 1000")
	case config.MaxUnits < 0, config.MaxBulk < 0, config.PricePerMillion < 0:
		return nil, fault("Config.MaxUnits, MaxBulk and PricePerMillion must not be negative")
	}
	if config.Title == "" {
		config.Title = "Idempotency records"
	}
	if config.Access == nil {
		config.Access = func(*http.Request) Access { return ReadOnly }
	}
	if config.PageSize == 0 {
		config.PageSize = 100
	}
	if config.MaxUnits == 0 {
		config.MaxUnits = 2000
	}
	if config.MaxBulk == 0 {
		config.MaxBulk = 10_000
	}
	c := &Console{desk: desk, config: config, bulks: bulks{planned: make(map[string]*bulk), now: time.Now}}
	c.mux = c.routes()
	return c, nil
}

func fault(problem string) error { return &configError{problem} }

type configError struct{ problem string }

func (e *configError) Error() string { return "console: " + e.problem }

// Is reports whether target is [ErrConfig].
func (e *configError) Is(target error) bool { return target == ErrConfig }

// ServeHTTP serves the page at /, and what it asks below /api/. Behind a prefix, strip it.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

func (c *Console) routes() http.Handler {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // the folder is in the program
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", c.may(ReadOnly, http.FileServerFS(files)))
	mux.Handle("GET /api/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		problem(w, http.StatusNotFound, "not_found", "There is nothing here.")
	}))
	mux.Handle("GET /api/about", c.may(ReadOnly, answer(c.about)))
	mux.Handle("GET /api/overview", c.may(ReadOnly, answer(c.overview)))
	mux.Handle("GET /api/records", c.may(ReadOnly, answer(c.list)))
	mux.Handle("GET /api/record", c.may(ReadOnly, answer(c.show)))
	mux.Handle("POST /api/open", c.may(ReadOnly, asked(c.open)))
	mux.Handle("POST /api/plan", c.may(ReadWrite, asked(c.plan)))
	mux.Handle("POST /api/do", c.may(ReadWrite, asked(c.do)))
	mux.Handle("POST /api/bulk/plan", c.may(ReadWrite, asked(c.bulkPlan)))
	mux.Handle("POST /api/bulk/do", c.may(ReadWrite, asked(c.bulkDo)))
	return headers(http.NewCrossOriginProtection().Handler(mux))
}

// may lets those through who have at least that access.
func (c *Console) may(least Access, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if access := c.config.Access(r); access < least || access > ReadWrite {
			problem(w, http.StatusForbidden, "forbidden", "You may not do that here.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// headers keep the page to itself: no other origin frames it, reads it, or runs anything in it.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// log tells what somebody has done.
func (c *Console) log(r *http.Request, what string, attrs ...slog.Attr) {
	logger := c.config.Logger
	if logger == nil {
		logger = slog.Default()
	}
	if c.config.Who != nil {
		attrs = append(attrs, slog.String("who", c.config.Who(r)))
	}
	logger.LogAttrs(r.Context(), slog.LevelInfo, "console: "+what, attrs...)
}
