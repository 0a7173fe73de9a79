//go:build unix

package rie

import "syscall"

// ownProcessGroup keeps the terminal's Ctrl-C away from the emulator, which is to
// be ended in order.
var ownProcessGroup = &syscall.SysProcAttr{Setpgid: true}
