//go:build unix && !linux

package main

import "context"

// registry measures a registry where the memory of a process can be read; see the file for Linux.
func registry(context.Context, string, programs) ([]figure, error) { return nil, nil }
