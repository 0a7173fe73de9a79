// Package figures writes what was measured: where, how much, and as a table.
package figures

import (
	"fmt"
	"runtime"
)

// Machine is where the measuring was done. Its figures compare with those of no
// other machine.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
}

// ThisMachine is the one that this program runs on.
func ThisMachine() Machine {
	return Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version()}
}

func (m Machine) String() string {
	return fmt.Sprintf("%s/%s, %d cores, %s", m.OS, m.Arch, m.Cores, m.Go)
}
