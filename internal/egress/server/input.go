package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/perstack-go/perstack/internal/egress"
)

// ReadConfig reads listeners from the first line of the input. Nothing may follow but the
// end, by which the parent process stops the proxy, even when it dies: cancel is called
// with what follows.
func ReadConfig(ctx context.Context, input io.Reader, cancel context.CancelCauseFunc) (egress.ProxyConfig, error) {
	in := bufio.NewReader(input)
	line, err := readLine(ctx, in)
	if err != nil {
		return egress.ProxyConfig{}, err
	}
	config, err := egress.ParseProxyConfig(line)
	if err != nil {
		return egress.ProxyConfig{}, &UsageError{fmt.Errorf("%w; it must be one line", err)}
	}
	go func() {
		if _, err := in.ReadByte(); err == nil {
			cancel(&UsageError{errors.New("more than one line was sent")})
			return
		}
		cancel(errInputEnded)
	}()
	return config, nil
}

// readLine reads up to the end of a line, unless the context ends first: then the reader
// is left behind with its input.
func readLine(ctx context.Context, in *bufio.Reader) ([]byte, error) {
	var line []byte
	done := make(chan error, 1)
	go func() {
		for {
			part, err := in.ReadSlice('\n')
			line = append(line, part...)
			switch {
			case len(line) > egress.MaxPolicy:
				done <- &UsageError{fmt.Errorf("the line has more than %d bytes", egress.MaxPolicy)}
				return
			case err == nil:
				done <- nil
				return
			case !errors.Is(err, bufio.ErrBufferFull):
				done <- &UsageError{errors.New("the input ended before its first line did")}
				return
			}
		}
	}()
	select {
	case err := <-done:
		return bytes.TrimSpace(line), err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
