//go:build !linux

package rie

import (
	"context"
	"net"
)

// reservation is a loopback port that was free a moment ago. Only Linux lets one
// keep a port for somebody else.
type reservation struct{ address string }

func reserve(ctx context.Context) (*reservation, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &reservation{listener.Addr().String()}, listener.Close()
}

func (*reservation) release() {}
