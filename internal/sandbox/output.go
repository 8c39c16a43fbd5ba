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
	limit int
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	total int64
}

func newStream(limit int) *stream {
	if limit <= 0 {
		limit = DefaultMaxOutput
	}
	return &stream{limit: limit}
}

func (s *stream) headSize() int { return s.limit / 2 }
func (s *stream) tailSize() int { return s.limit - s.headSize() }

func (s *stream) write(p []byte) {
	s.total += int64(len(p))
	if room := s.headSize() - len(s.head); room > 0 {
		k := min(room, len(p))
		s.head = append(s.head, p[:k]...)
		p = p[k:]
	}
	if room := s.tailSize() - len(s.tail); room > 0 {
		k := min(room, len(p))
		s.tail = append(s.tail, p[:k]...)
		p = p[k:]
	}
	if skip := len(p) - s.tailSize(); skip > 0 {
		s.next = (s.next + skip) % s.tailSize()
		p = p[skip:]
	}
	for len(p) > 0 {
		k := copy(s.tail[s.next:], p)
		s.next = (s.next + k) % s.tailSize()
		p = p[k:]
	}
}

func (s *stream) output() Output {
	left := s.total - int64(len(s.head)+len(s.tail))
	tail := slices.Concat(s.tail[s.next:], s.tail[:s.next])
	if left == 0 {
		return Output{Head: slices.Concat(s.head, tail)}
	}
	return Output{Head: slices.Clone(s.head), Tail: tail, LeftOut: left}
}
