package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// To fetch what a server runs from may take longer than a server may take to start: the
// one has nothing to do with the other.
func TestFetchingIsNotStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSkill(Options{
			Name: "slow", StartTimeout: time.Second,
			Process: func(ctx context.Context) (Process, error) {
				select {
				case <-time.After(time.Minute):
					return Process{}, errors.New("the registry has no such package")
				case <-ctx.Done():
					return Process{}, context.Cause(ctx)
				}
			},
		})
		if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "no such package") {
			t.Errorf("error %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
