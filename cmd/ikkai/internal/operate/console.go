package operate

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/ikkai-go/idempotency/persistence/records/console"
)

// Page is how the console is served.
type Page struct {
	Port            int
	Write           bool
	MaxUnits        float64
	PricePerMillion float64
}

// Serve serves the console on this machine until the context ends.
func Serve(ctx context.Context, o *Opened, p Page, stdout, stderr io.Writer) error {
	access := console.ReadOnly
	if p.Write {
		_, _ = o.Desk.Show(ctx, "ikkai-clock") // for the answer's Date; the page tells what does not work
		if err := o.skew.check(o.margin); err != nil {
			return err
		}
		access = console.ReadWrite
	}
	page, err := console.New(o.Desk, console.Config{
		Title:           o.where(),
		Access:          func(*http.Request) console.Access { return access },
		MaxUnits:        p.MaxUnits,
		PricePerMillion: p.PricePerMillion,
	})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port)))
	if err != nil {
		return err
	}
	return console.Local(ctx, listener, page, func(address string) {
		fmt.Fprintln(stdout, address)
		fmt.Fprintln(stderr, "open this address in a browser: it lets in whoever has it. End with Ctrl-C.")
	})
}
