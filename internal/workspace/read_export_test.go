package workspace

import (
	"context"
	"io"
)

// ReadAll reads from what says to have size bytes.
func ReadAll(ctx context.Context, r io.Reader, size, limit int64) ([]byte, error) {
	return readAll(ctx, r, "file", size, limit)
}
