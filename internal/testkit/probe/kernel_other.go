//go:build !linux

package probe

import (
	"context"
	"errors"
)

// Containers are Linux, and so is the probe in them.

func ping(context.Context, string) Result { return Result{Outcome: Broken} }
func rawSockets() Result                  { return Result{Outcome: Broken} }
func kernelRows(Config) []Row             { return nil }
func limitRows(Config) []Row              { return nil }

func keep(context.Context, string, string, string) error { return errors.ErrUnsupported }

// Multiply has no use here.
func Multiply(context.Context) {}

// Linger has no use here.
func Linger() {}
