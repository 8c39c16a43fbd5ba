package tlog

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// An Addition asks a witness to cosign a checkpoint, as tlog-witness of C2SP has it.
type Addition struct {
	Old    int64  // size of the checkpoint that the witness has cosigned last
	Proof  []Hash // that the log grew from it
	Signed []byte // the new checkpoint
}

// The bounds of an addition.
const (
	maxProof    = 63
	MaxAddition = maxNote + 4<<10
)

// SizeType is the content type of the size that a witness answers with if it has cosigned another one.
const SizeType = "text/x.tlog.size"

// Text writes the addition as the body of a request.
func (a *Addition) Text() []byte {
	out := fmt.Appendf(nil, "old %d\n", a.Old)
	for _, h := range a.Proof {
		out = fmt.Appendf(out, "%s\n", base64.StdEncoding.EncodeToString(h[:]))
	}
	return append(append(out, '\n'), a.Signed...)
}

// ParseAddition reads the body of a request. There is one text for each addition.
func ParseAddition(text []byte) (*Addition, error) {
	fail := errors.New("the request is not a size, a proof, an empty line and a checkpoint")
	head, signed, ok := bytes.Cut(text, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	size, sized := strings.CutPrefix(lines[0], "old ")
	old, err := strconv.ParseInt(size, 10, 64)
	if !ok || !sized || err != nil || old < 0 || len(lines) > 1+maxProof || len(signed) == 0 || len(text) > MaxAddition {
		return nil, fail
	}
	a := &Addition{Old: old, Signed: signed}
	for _, line := range lines[1:] {
		data, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(data) != len(Hash{}) {
			return nil, fail
		}
		a.Proof = append(a.Proof, Hash(data))
	}
	if !bytes.Equal(a.Text(), text) {
		return nil, fail
	}
	return a, nil
}

// OriginOf returns the first line of a checkpoint, which nothing has verified.
func OriginOf(signed []byte) string {
	line, _, _ := bytes.Cut(signed, []byte("\n"))
	return string(line)
}
