//go:build !unix

package rie

import "syscall"

// ownProcessGroup is nothing special where the emulator does not run anyway.
var ownProcessGroup *syscall.SysProcAttr
