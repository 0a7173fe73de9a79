package saga

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
)

// Declaration is what [Steps] declares: a step, a family of steps, or a name that earlier
// code has used ([Retired]).
type Declaration interface{ definition() *definition }

// Steps declares the steps of a guard, for [idempotent.Config].Steps: all that its function
// may run. A record that has a step which is not declared, as after a deployment that has
// renamed one, is refused before anything runs; so keep the names of removed steps declared
// ([Retired]) until the TTL is over. No steps are none. It panics where a name is declared
// twice.
func Steps(steps ...Declaration) journal.Steps {
	if len(steps) == 0 {
		return nil
	}
	d := declared{exact: make(map[string]*definition)}
	for _, s := range steps {
		def := s.definition()
		if _, twice := d.exact[def.name]; twice {
			panic(fmt.Sprintf("saga: %q is declared twice", def.name))
		}
		d.exact[def.name] = def
		if def.family() {
			d.families = append(d.families, def)
		}
	}
	slices.SortFunc(d.families, func(a, b *definition) int { return cmp.Compare(len(b.name), len(a.name)) })
	return d
}

// Retired declares the name of a step that no code runs any more, or of a family, for the
// records that have it. Such a call goes on; where the step would have to be undone, it is
// stuck ([ErrNotUndoable]), so keep the step itself declared if it has a Compensate. It
// panics for what is no name.
func Retired(name string) Declaration {
	if err := checkName(name); err != nil {
		panic("saga: " + err.Error())
	}
	return retired{&definition{name: name, hold: func() *output { return nil }}}
}

type retired struct{ declared *definition }

func (r retired) definition() *definition { return r.declared }

func (s *Step[Out]) definition() *definition { return s.declared }

func (f *Family[Out]) definition() *definition { return f.declared }

// definition is what is declared of a step, or of a family, without the type of its output.
type definition struct {
	name        string
	atMostOnce  bool
	compensates bool
	reconciles  bool
	hold        func() *output // for a step that the function has not come to; nil without a type
}

// family tells whether the definition is that of many steps.
func (d *definition) family() bool { return strings.HasSuffix(d.name, "/") }

// declared are the steps of a guard.
type declared struct {
	exact    map[string]*definition
	families []*definition // the longest names first
}

// lookup returns the definition of a step; nil for one that is not declared.
func (d declared) lookup(name string) *definition {
	if def := d.exact[name]; def != nil && !def.family() {
		return def
	}
	for _, family := range d.families {
		if len(name) > len(family.name) && strings.HasPrefix(name, family.name) {
			return family
		}
	}
	return nil
}

// Open implements [journal.Steps].
func (d declared) Open(c journal.Call) (journal.Journal, error) {
	steps, err := readHistory(c.Record, d)
	j := &callJournal{call: c, declared: d, lease: c.Record.Lease(), history: steps, inFlight: make(map[string]int), refused: err != nil}
	j.quiet.L = &j.mu
	return j, err
}

// maxName is the longest name of a step, in bytes.
const maxName = 200

// checkName returns what is wrong with the name of a step. The colon is kept for what else
// is recorded of one.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a step needs a name")
	case len(name) > maxName:
		return fmt.Errorf("%.20q… has %d bytes, the limit is %d", name, len(name), maxName)
	case !utf8.ValidString(name), strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%q is not printable text", name)
	case strings.Contains(name, ":"):
		return fmt.Errorf("%q has a colon", name)
	}
	return nil
}

// These are what the engine knows a step's part of a call by.
const (
	partStep         = string(idempotent.EventStep)
	partCompensation = string(idempotent.EventCompensation)
)
