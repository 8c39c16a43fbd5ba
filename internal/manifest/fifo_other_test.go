//go:build !unix

package manifest

import "testing"

func mkfifo(*testing.T, string) bool { return false }
