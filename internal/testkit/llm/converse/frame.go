package converse

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// Frame is one message of an event stream. Each header is a name and a text.
func Frame(payload string, headers ...[2]string) []byte {
	m := eventstream.Message{Payload: []byte(payload)}
	for _, h := range headers {
		m.Headers.Set(h[0], eventstream.StringValue(h[1]))
	}
	var b bytes.Buffer
	_ = eventstream.NewEncoder().Encode(&b, m) // into memory, with headers that are short
	return b.Bytes()
}

// Event is an event of the stream.
func Event(kind, payload string) []byte {
	return Frame(payload, [2]string{":event-type", kind}, [2]string{":content-type", "application/json"}, [2]string{":message-type", "event"})
}

// The exceptions that the service has, by the status that they come with.
var kinds = map[int]string{
	400: "ValidationException",
	401: "UnrecognizedClientException",
	403: "AccessDeniedException",
	404: "ResourceNotFoundException",
	408: "ModelTimeoutException",
	424: "ModelErrorException",
	429: "ThrottlingException",
	500: "InternalServerException",
	503: "ServiceUnavailableException",
}

func kindOf(f script.Failure) string {
	switch known := kinds[f.Status]; {
	case f.Kind != "":
		return f.Kind
	case f.Status == 0:
		return "modelStreamErrorException"
	case known != "":
		return known
	case f.Status >= 500:
		return kinds[500]
	}
	return kinds[400]
}

// exception is an error inside a stream, whose name begins with a small letter there.
func exception(f script.Failure) []byte {
	kind := []byte(kindOf(f))
	kind[0] |= 'a' - 'A'
	return Frame(`{"message":`+script.Quote(f.Message)+`}`,
		[2]string{":exception-type", string(kind)}, [2]string{":content-type", "application/json"}, [2]string{":message-type", "exception"})
}

func refuse(w http.ResponseWriter, f script.Failure, id string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", kindOf(f)+":http://internal.amazon.com/coral/com.amazon.bedrock/")
	w.Header().Set("X-Amzn-Requestid", id)
	w.WriteHeader(f.Status)
	_, _ = fmt.Fprintf(w, `{"message":%s}`, script.Quote(f.Message)) // a client that has left needs no answer
}

// huge is what stands before and behind text that is one frame. Its checksum is that of
// the whole.
func huge(size int) (head, tail []byte) {
	const before, after = `{"contentBlockIndex":0,"delta":{"text":"`, `"},"p":"abc"}`
	frame := Event("contentBlockDelta", before+after)
	at := bytes.Index(frame, []byte(before)) + len(before)
	head, tail = frame[:at:at], bytes.Clone(frame[at:])
	binary.BigEndian.PutUint32(head, uint32(len(frame)+size))
	binary.BigEndian.PutUint32(head[8:], crc32.ChecksumIEEE(head[:8]))
	sum := crc32.ChecksumIEEE(head)
	piece := bytes.Repeat([]byte("a"), 64<<10)
	for left := size; left > 0; left -= len(piece) {
		sum = crc32.Update(sum, crc32.IEEETable, piece[:min(left, len(piece))])
	}
	sum = crc32.Update(sum, crc32.IEEETable, tail[:len(tail)-4])
	binary.BigEndian.PutUint32(tail[len(tail)-4:], sum)
	return head, tail
}
