// Package jq tells by an expression in the language of jq which values to keep.
//
// An expression sees one value and nothing else: no environment, no files, no modules, no other
// values. It comes from the user, and can be one that was copied from a web page, so its time
// and its memory are bounded.
//
// Not bounded is what a single operation takes: a string that is repeated can have 2 GiB, and
// an operation on arrays that are nested some million times exhausts the stack, which ends the
// program. Start reading at [Compile], then [Expr.Keeps].
package jq

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"time"

	"github.com/itchyny/gojq"
)

// The limits of an expression.
const (
	MaxText   = 10_000 // bytes; the compiler recurses, and Go programs cannot survive a full stack
	MaxTime   = 5 * time.Second
	maxMemory = 1 << 30 // bytes that the whole program uses

	watchEvery = 50 * time.Millisecond
)

// Reasons to give up an expression. A later value would fail in the same way.
var (
	ErrTime   = fmt.Errorf("it took longer than %s", MaxTime)
	ErrMemory = errors.New("it needed more than 1 GiB of memory")
)

// An Expr is an expression, ready for use by one goroutine at a time.
type Expr struct {
	code      *gojq.Code
	maxTime   time.Duration
	maxMemory uint64
}

// Compile prepares an expression. The error is a [*SyntaxError].
func Compile(text string) (x *Expr, err error) {
	if len(text) > MaxText {
		return nil, &SyntaxError{1, 1, fmt.Sprintf("it has %d bytes, and %d are allowed", len(text), MaxText)}
	}
	defer func() {
		if why := recover(); why != nil {
			x, err = nil, &SyntaxError{1, 1, fmt.Sprintf("the compiler failed: %v", why)}
		}
	}()
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, parseError(text, err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, compileError(text, err)
	}
	return &Expr{code, MaxTime, maxMemory}, nil
}

// Keeps reports whether the first result of the expression is neither null nor false. A value
// without any result is not kept. After [ErrTime] and [ErrMemory], the operation can still be
// at work: the program is expected to end.
func (x *Expr) Keeps(ctx context.Context, value map[string]any) (bool, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type outcome struct {
		keeps bool
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		keeps, err := x.first(ctx, value)
		done <- outcome{keeps, err}
	}()
	deadline, watch := time.NewTimer(x.maxTime), time.NewTicker(watchEvery)
	defer deadline.Stop()
	defer watch.Stop()
	for {
		select {
		case o := <-done:
			return o.keeps, o.err
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-deadline.C:
			return false, ErrTime
		case <-watch.C:
			if inUse() > x.maxMemory {
				return false, ErrMemory
			}
		}
	}
}

// first evaluates the expression up to its first result.
func (x *Expr) first(ctx context.Context, value map[string]any) (keeps bool, err error) {
	defer func() {
		if why := recover(); why != nil {
			keeps, err = false, fmt.Errorf("the expression failed: %v", why)
		}
	}()
	result, ok := x.code.RunWithContext(ctx, value).Next()
	if err, failed := result.(error); failed {
		return false, err
	}
	return ok && result != nil && result != false, nil
}

// inUse is the memory of all values of the program.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
