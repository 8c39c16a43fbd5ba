package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/perstack-go/perstack/internal/egress"
)

// ReadConfig reads listeners from the first line of the input. Nothing may follow but empty
// lines, which say that the parent process is there, and the end, by which it stops the
// proxy, even when it dies. cancel is called with what else follows, and after a silence
// that is longer than the first line allows.
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
	heard := func() {}
	if limit := time.Duration(config.MaxSilence) * time.Second; limit > 0 {
		silence := time.AfterFunc(limit, func() { cancel(fmt.Errorf("the input said nothing for %s", limit)) })
		context.AfterFunc(ctx, func() { silence.Stop() })
		heard = func() { silence.Reset(limit) }
	}
	go func() { cancel(follow(in, heard)) }()
	return config, nil
}

// follow reads what comes after the first line, and returns why there is no more.
func follow(in *bufio.Reader, heard func()) error {
	for {
		switch next, err := in.ReadByte(); {
		case err != nil:
			return errInputEnded
		case next != '\n':
			return &UsageError{errors.New("more than one line was sent")}
		}
		heard()
	}
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
