//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package guard

import "context"

// Run runs the full-screen program in this process.
func Run(ctx context.Context, _ Options, ui UI) (code int, err error) {
	return 0, ui(ctx, func(string) {})
}
