package snapshot

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The codecs of a record.
const (
	rawCodec  byte = 0
	zstdCodec byte = 1
)

// A compressor takes several megabytes, so one pack has it and not the store, which is open for as
// long as a job runs. It is made when it is first needed.
type compressor struct {
	encoder func() (*zstd.Encoder, error)
	buffer  []byte
}

func newCompressor() *compressor {
	return &compressor{encoder: sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(chunkSize))
	})}
}

// newDecoder returns a function that makes a decoder when it is first called.
func newDecoder() func() (*zstd.Decoder, error) {
	return sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxObject))
	})
}

// compress returns what to store. It is valid until the next call. What hardly becomes smaller is
// stored as it is, because reading that costs nothing.
func (c *compressor) compress(content []byte) (used byte, stored []byte) {
	encoder, err := c.encoder()
	if err != nil || len(content) < 64 {
		return rawCodec, content
	}
	c.buffer = encoder.EncodeAll(content, c.buffer[:0])
	if len(c.buffer) > len(content)-len(content)/20 {
		return rawCodec, content
	}
	return zstdCodec, c.buffer
}

func (s *Store) decompress(r record) ([]byte, error) {
	switch r.codec {
	case rawCodec:
		if len(r.stored) != r.size {
			return nil, errDamaged
		}
		return r.stored, nil
	case zstdCodec:
		decoder, err := s.decoder()
		if err != nil {
			return nil, err
		}
		content, err := decoder.DecodeAll(r.stored, make([]byte, 0, r.size))
		if err != nil || len(content) != r.size {
			return nil, errDamaged
		}
		return content, nil
	}
	return nil, errDamaged
}
