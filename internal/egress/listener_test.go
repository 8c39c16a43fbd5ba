package egress

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
)

func TestVacant(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	one := ProxyConfig{Listeners: []Listener{{Name: "one", Address: address}}}
	both := ProxyConfig{Listeners: []Listener{{Name: "other", Address: taken.Addr().String()}, {Name: "one", Address: address}}}

	if err := one.Vacant(t.Context()); err != nil {
		t.Error(err)
	}
	if err := both.Vacant(t.Context()); err == nil || !strings.Contains(err.Error(), `listener "other"`) {
		t.Errorf("a place that is taken: %v", err)
	}
	gone := make(chan struct{})
	close(gone)
	if err := both.Opened(t.Context(), gone); !errors.Is(err, ErrGone) {
		t.Errorf("a program that is gone: %v", err)
	}
	why := errors.New("too late")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(why)
	if err := one.Opened(ctx, nil); !errors.Is(err, why) {
		t.Errorf("a context that is done: %v", err)
	}
	// A listener that opens later is waited for.
	opened := make(chan error, 1)
	go func() { opened <- both.Opened(t.Context(), nil) }()
	late, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
