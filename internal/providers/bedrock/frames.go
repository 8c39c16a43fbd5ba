package bedrock

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

const (
	preludeSize = 12 // the length of the frame, that of its headers, and a checksum of both
	frameSize   = preludeSize + 4

	// maxHeaders bounds the headers of a frame. Those of the service have some hundred
	// bytes; the library looks through all of them for each one, so that many small ones
	// would cost a day.
	maxHeaders = 2 << 10
)

// frames takes a stream apart into the frames of AWS's event stream encoding. It looks at
// lengths itself, since the library believes them.
type frames struct {
	client *wire.Client
	in     *bufio.Reader
	frame  bytes.Buffer
}

func newFrames(client *wire.Client, stream io.Reader) *frames {
	return &frames{client: client, in: bufio.NewReaderSize(stream, 4<<10)} // frames are short, and there may be a thousand streams
}

// next returns the next frame, which is valid until another one is read. At the end of
// the stream, inside a frame too, it returns io.EOF.
func (f *frames) next() (eventstream.Message, error) {
	f.frame.Reset()
	if err := f.read(preludeSize); err != nil {
		return eventstream.Message{}, err
	}
	prelude := f.frame.Bytes()
	length, headers := binary.BigEndian.Uint32(prelude), binary.BigEndian.Uint32(prelude[4:])
	if err := f.check(prelude, length, headers); err != nil {
		return eventstream.Message{}, f.client.Malformed(err)
	}
	if err := f.read(int64(length) - preludeSize); err != nil {
		return eventstream.Message{}, err
	}
	m, err := eventstream.NewDecoder().Decode(bytes.NewReader(f.frame.Bytes()), nil)
	if err != nil {
		return m, f.client.Malformed(fmt.Errorf("a frame that cannot be read: %w", err))
	}
	return m, nil
}

// read adds so many bytes to the frame. Memory is taken as they come, not as they are
// promised.
func (f *frames) read(n int64) error {
	_, err := io.CopyN(&f.frame, f.in, n)
	return err
}

// check refuses a frame before anything is done for it.
func (f *frames) check(prelude []byte, length, headers uint32) error {
	most := cmp.Or(f.client.MaxEvent, wire.DefaultMaxEvent)
	switch {
	case crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:]):
		return errors.New("what is not an event stream; check the base URL")
	case int64(length) > int64(most):
		return fmt.Errorf("an event of more than %d bytes", most)
	case headers > maxHeaders:
		return fmt.Errorf("an event with more than %d bytes of headers", maxHeaders)
	case length < frameSize+headers:
		return errors.New("a frame that is shorter than its headers")
	}
	return nil
}
