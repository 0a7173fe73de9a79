package figures

import (
	"testing"
	"time"
)

func TestDurationsHaveThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                       "0 ns",
		999:                     "999 ns",
		1234:                    "1.23 µs",
		-97149:                  "-97.1 µs",
		6256 * time.Microsecond: "6.26 ms",
		-2 * time.Millisecond:   "-2 ms",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d ns is written %q, want %q", d, got, want)
		}
	}
}

func TestBytesHaveTheirUnit(t *testing.T) {
	for n, want := range map[int64]string{
		1023:     "1023 B",
		1024:     "1 KB",
		753664:   "736 KB",
		11022498: "10.5 MB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d bytes are written %q, want %q", n, got, want)
		}
	}
}
