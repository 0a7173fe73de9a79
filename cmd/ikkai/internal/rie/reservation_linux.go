package rie

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// reservation keeps a loopback port for the emulator, which can't choose its ports
// by itself: bound to a socket that does not listen, the port is given to nobody
// who wants any, but to the emulator, who asks for it by its number.
type reservation struct {
	address string
	socket  int
}

func reserve(context.Context) (*reservation, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	r := &reservation{socket: socket}
	if r.address, err = bind(socket); err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

// bind binds a socket to a free port. The emulator's socket may have the same
// address because both ask for it (SO_REUSEADDR; Go's listeners always do).
func bind(socket int) (address string, err error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return "", os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", os.NewSyscallError("bind", err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		return "", os.NewSyscallError("getsockname", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port), nil
}

func (r *reservation) release() { _ = syscall.Close(r.socket) }
