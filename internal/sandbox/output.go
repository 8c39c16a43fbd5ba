package sandbox

import (
	"fmt"
	"slices"
)

// An Output is what is kept of a stream: all of it, or its beginning and its end.
type Output struct {
	Head    []byte
	Tail    []byte // empty unless bytes were left out
	LeftOut int64  // bytes between Head and Tail
}

// String joins the parts, with a line that says how much is missing between them.
func (o Output) String() string {
	if o.LeftOut == 0 {
		return string(o.Head)
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", o.Head, o.LeftOut, o.Tail)
}

// A stream collects output in bounded memory. It keeps the beginning and the end, which
// usually say most about what a program did.
type stream struct {
	headSize, tailSize int
	head, tail         []byte // the tail can be longer than what is kept of it
	total              int64
}

func newStream(limit int) *stream {
	if limit <= 0 {
		limit = DefaultMaxOutput
	}
	return &stream{headSize: limit / 2, tailSize: limit - limit/2}
}

func (s *stream) write(p []byte) {
	s.total += int64(len(p))
	k := min(s.headSize-len(s.head), len(p))
	s.head = append(s.head, p[:k]...)
	s.tail = append(s.tail, p[k:]...)
	if len(s.tail) > 2*s.tailSize { // rarely, since it copies
		s.tail = append(s.tail[:0], s.lastBytes()...)
	}
}

func (s *stream) lastBytes() []byte { return s.tail[max(0, len(s.tail)-s.tailSize):] }

func (s *stream) output() Output {
	tail := s.lastBytes()
	left := s.total - int64(len(s.head)+len(tail))
	if left == 0 {
		return Output{Head: slices.Concat(s.head, tail)}
	}
	return Output{Head: slices.Clone(s.head), Tail: slices.Clone(tail), LeftOut: left}
}
