//go:build unix

package demo

import "syscall"

// ownProcessGroup keeps the terminal's Ctrl-C away from the emulator: the demo
// ends it in order.
var ownProcessGroup = &syscall.SysProcAttr{Setpgid: true}
