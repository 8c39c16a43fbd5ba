package model

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
)

func TestAsError(t *testing.T) {
	used := event.Usage{InputTokens: 7, OutputTokens: 1, TotalTokens: 8}
	busy := &Error{Name: "E", Message: "busy", StatusCode: 529, Retryable: true, RetryAfter: time.Second}
	timeout := Error{Name: "TimeoutError", Message: OutOfTime}
	unknown := Error{Name: "UnknownError", Message: "context canceled"}
	with := func(e Error) Error { e.Usage = used; return e }
	for name, tt := range map[string]struct {
		err  error
		want Error
	}{
		"its own":             {busy, *busy},
		"its own, paid":       {WithUsage(busy, used), with(*busy)},
		"out of time":         {context.DeadlineExceeded, timeout},
		"out of time, paid":   {WithUsage(context.DeadlineExceeded, used), with(timeout)},
		"anything":            {context.Canceled, unknown},
		"anything, paid":      {WithUsage(context.Canceled, used), with(unknown)},
		"paid, then wrapped":  {errors.Join(WithUsage(busy, used)), with(*busy)},
		"counted a last time": {WithUsage(WithUsage(busy, event.Usage{InputTokens: 1}), used), with(*busy)},
	} {
		if diff := cmp.Diff(tt.want, *AsError(tt.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if busy.Usage.TotalTokens != 0 {
		t.Errorf("the error that was given is changed: %+v", busy)
	}
	if err := WithUsage(context.Canceled, used); !errors.Is(err, context.Canceled) || err.Error() != "context canceled" {
		t.Errorf("%v is another error now", err)
	}
}
