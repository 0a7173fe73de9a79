//go:build !unix

package demo

import "syscall"

// ownProcessGroup is nothing special where the emulator does not run anyway.
var ownProcessGroup *syscall.SysProcAttr
