package workspace

import (
	"context"
	"errors"
	"io"
)

// ReadFile reads a whole regular file of at most max bytes. They are the bytes of the
// handle that was checked; the name is not looked up again.
func (w *Workspace) ReadFile(ctx context.Context, name string, max int64) (Info, []byte, error) {
	f, err := w.OpenFile(ctx, name)
	if err != nil {
		return Info{}, nil, err
	}
	defer f.Close()
	data, err := readAll(ctx, f, name, f.Size, max)
	if err != nil {
		return Info{}, nil, err
	}
	info := f.Info
	info.Size = int64(len(data)) // it may have grown while it was read
	return info, data, nil
}

// chunk is what is read between two looks at the context.
const chunk = 1 << 20

// readAll reads to the end. The size is only a hint: the file may grow while it is read,
// and must not fill the memory then.
func readAll(ctx context.Context, r io.Reader, name string, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, tooLarge(name, size, limit)
	}
	data := make([]byte, 0, max(size, 0)+1) // one more, to see the end without growing
	for {
		if err := ctx.Err(); err != nil {
			return nil, interrupted(name, err)
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := r.Read(data[len(data):min(cap(data), len(data)+chunk)])
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			return nil, tooLarge(name, int64(len(data)), limit)
		}
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, translate(name, err, false)
		}
	}
}

func tooLarge(name string, size, limit int64) error {
	return fail(TooLarge, name, "is too large: it has %d bytes or more, and the limit is %d", size, limit)
}
