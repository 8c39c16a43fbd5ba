package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The protocol between perstack and its supervisor. Strings are sent as they are, with
// their lengths: an argument or a variable need not be text. Neither side trusts the other:
// a message that is too long, unknown or has bytes left over ends the connection.

// A kind says what a message is about.
type kind byte

const (
	kindStart  kind = iota + 1 // to the supervisor: start a program; its streams come along, and its directory
	kindSignal                 // to the supervisor: send a signal to the group of a program; with a text, for a limit that it says

	kindHello   // from the supervisor: it is ready, or why it is not; the listener of its sandbox comes along
	kindStarted // from the supervisor: the program runs
	kindFailed  // from the supervisor: it could not be started
	kindEnded   // from the supervisor: it has ended, and its group is gone
)

// A message has the fields that its kind needs; see fields.
type message struct {
	kind   kind
	id     uint64 // the program that is meant
	path   string
	argv   []string
	env    []string
	dir    string // where it starts in namespaces of its own; else a descriptor says that
	policy string // a [policy.Policy] as text
	signal uint64
	errno  uint64
	code   uint64 // exit code, if no signal ended it
	text   string // why it is not ready, did not start, or is killed by us
}

const (
	headerSize = 5 // length of the body, kind
	// maxMessage is above what Linux takes as arguments and environment (6 MiB at the
	// utmost), so that what does not fit in here would not fit there either.
	maxMessage = 8 << 20
	maxAnswer  = 4 << 10 // of the supervisor
)

var errProtocol = errors.New("the other side does not follow the protocol")

// fields lists, in order, what a message of its kind consists of.
func (m *message) fields() ([]any, error) {
	switch m.kind {
	case kindStart:
		return []any{&m.id, &m.path, &m.argv, &m.env, &m.dir, &m.policy}, nil
	case kindSignal:
		return []any{&m.id, &m.signal, &m.text}, nil
	case kindHello:
		return []any{&m.text}, nil
	case kindStarted:
		return []any{&m.id}, nil
	case kindFailed:
		return []any{&m.id, &m.errno, &m.text}, nil
	case kindEnded:
		return []any{&m.id, &m.code, &m.signal, &m.text}, nil
	}
	return nil, fmt.Errorf("%w: message of kind %d", errProtocol, m.kind)
}

// encode returns the message with its header.
func (m *message) encode() ([]byte, error) {
	fields, err := m.fields()
	if err != nil {
		return nil, err
	}
	data := []byte{0, 0, 0, 0, byte(m.kind)}
	for _, f := range fields {
		switch f := f.(type) {
		case *uint64:
			data = binary.AppendUvarint(data, *f)
		case *string:
			data = appendString(data, *f)
		case *[]string:
			data = binary.AppendUvarint(data, uint64(len(*f)))
			for _, s := range *f {
				data = appendString(data, s)
			}
		}
	}
	binary.BigEndian.PutUint32(data, uint32(min(len(data)-headerSize, maxMessage+1)))
	return data, nil
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// bodySize returns the length of the body that follows a header.
func bodySize(header []byte, limit int) (int, error) {
	length := binary.BigEndian.Uint32(header)
	if uint64(length) > uint64(limit) {
		return 0, fmt.Errorf("%w: message of %d bytes", errProtocol, length)
	}
	return int(length), nil
}

// decode reads a message. All of it must be used up.
func decode(data []byte) (m message, err error) {
	if len(data) < headerSize || uint64(binary.BigEndian.Uint32(data)) != uint64(len(data)-headerSize) {
		return m, fmt.Errorf("%w: message cut short", errProtocol)
	}
	m.kind = kind(data[headerSize-1])
	fields, err := m.fields()
	if err != nil {
		return m, err
	}
	body := data[headerSize:]
	for _, f := range fields {
		switch f := f.(type) {
		case *uint64:
			*f, body, err = cutNumber(body)
		case *string:
			*f, body, err = cutString(body)
		case *[]string:
			*f, body, err = cutStrings(body)
		}
		if err != nil {
			return m, err
		}
	}
	if len(body) > 0 {
		return m, fmt.Errorf("%w: %d bytes left over", errProtocol, len(body))
	}
	return m, nil
}

func cutNumber(b []byte) (uint64, []byte, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, fmt.Errorf("%w: number cut short", errProtocol)
	}
	return n, b[size:], nil
}

func cutString(b []byte) (string, []byte, error) {
	n, b, err := cutNumber(b)
	if err != nil || n > uint64(len(b)) {
		return "", nil, fmt.Errorf("%w: string cut short", errProtocol)
	}
	return string(b[:n]), b[n:], nil
}

func cutStrings(b []byte) ([]string, []byte, error) {
	n, b, err := cutNumber(b)
	if err != nil || n > uint64(len(b)) { // each takes a byte at least
		return nil, nil, fmt.Errorf("%w: list cut short", errProtocol)
	}
	var list []string
	for range n {
		var s string
		if s, b, err = cutString(b); err != nil {
			return nil, nil, err
		}
		list = append(list, s)
	}
	return list, b, nil
}
