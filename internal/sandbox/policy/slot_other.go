//go:build !linux

package policy

import "os"

// lockFile returns nil: no sandbox here has caches.
func lockFile(string) (*os.File, error) { return nil, nil }
