// Package attachment reads files that a user adds to a query: images, PDF files and text.
//
// What a file is, its bytes say and not its name. A path is read only because the user typed it. One
// that lies in the workspace is opened by internal/workspace, which follows no link out of it: a job
// could have left a link there that leads to a key of the user. Elsewhere links are followed.
//
// Start reading at [Read]. Programs that have the bytes already use [New].
package attachment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
)

// A File is an attachment with its bytes.
type File struct {
	Info event.Attachment
	Data []byte
	// Outside says that the path lies outside of the workspace.
	Outside bool
}

// An Error says why a file cannot be attached.
type Error struct {
	Name string // as the user gave it
	Why  string
	err  error
}

func (e *Error) Error() string { return fmt.Sprintf("cannot attach %.200q: %s", e.Name, e.Why) }

func (e *Error) Unwrap() error { return e.err }

// Read reads a file that the user named. path and dir, the workspace, are absolute.
func Read(ctx context.Context, path, dir string) (*File, error) {
	data, outside, err := read(ctx, path, dir)
	if err != nil {
		return nil, &Error{Name: path, Why: explain(err), err: err}
	}
	f, err := New(filepath.Base(path), data)
	if failed, ok := errors.AsType[*Error](err); ok {
		failed.Name = path
		return nil, failed
	}
	f.Outside = outside
	return f, nil
}

func read(ctx context.Context, path, dir string) (data []byte, outside bool, err error) {
	inside, ok := within(path, dir)
	if !ok {
		data, err = userfile.Read(path, job.MaxAttachmentBytes)
		return data, true, err
	}
	w, err := workspace.Open(dir, workspace.Options{})
	if err != nil {
		return nil, false, err
	}
	defer w.Close()
	_, data, err = w.ReadFile(ctx, inside, job.MaxAttachmentBytes)
	return data, false, err
}

// within returns the name of a path in the workspace. The path can lead there by another way than
// the name of the workspace does. What follows after it has entered the workspace is not resolved: a
// link there lies in the workspace, whatever it leads to.
func within(path, dir string) (name string, ok bool) {
	if name, ok = userfile.Below(dir, path); ok {
		return name, true
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", false
	}
	for i, r := range path { // each directory on the way, from the root on
		if r >= utf8.RuneSelf || !os.IsPathSeparator(uint8(r)) || i == 0 {
			continue
		}
		at, err := filepath.EvalSymlinks(path[:i])
		if err != nil {
			return "", false
		}
		if name, ok = userfile.Below(dir, at); ok {
			return filepath.Join(name, path[i:]), true
		}
	}
	return "", false
}

// explain words a failure for the user. What internal/workspace says is worded for a model.
func explain(err error) string {
	refused, ok := errors.AsType[*workspace.Error](err)
	if !ok {
		return err.Error()
	}
	switch refused.Code {
	case workspace.OutsideWorkspace:
		return "a link leads out of the workspace; name the file itself"
	case workspace.Protected:
		return "it can hold secrets, and is out of reach of jobs; to send it all the same, attach a copy"
	case workspace.NotFound:
		return "no such file"
	case workspace.TooLarge:
		return tooLarge
	case workspace.NotRegular, workspace.IsADirectory:
		return userfile.ErrNotRegular.Error()
	}
	return refused.Message
}

// New makes an attachment of bytes. The name is shown to the model.
func New(name string, data []byte) (*File, error) {
	kind := Type(data)
	switch {
	case len(data) == 0:
		return nil, &Error{Name: name, Why: "empty"}
	case len(data) > job.MaxAttachmentBytes:
		return nil, &Error{Name: name, Why: tooLarge}
	case kind == "":
		return nil, &Error{Name: name, Why: "by its content, it is no image (PNG, JPEG, GIF or WebP), no PDF and no UTF-8 text"}
	}
	sum := sha256.Sum256(data)
	return &File{Data: data, Info: event.Attachment{
		Name: wording.Cut(strings.ToValidUTF8(name, "\uFFFD"), job.MaxAttachmentName), MIMEType: kind,
		Size: int64(len(data)), Digest: "sha256:" + hex.EncodeToString(sum[:]),
	}}, nil
}

var tooLarge = fmt.Sprintf("larger than %d MiB", job.MaxAttachmentBytes>>20)

// Check returns an error unless the data is what an attachment says.
func Check(a event.Attachment, data []byte) error {
	f, err := New(a.Name, data)
	switch {
	case err != nil:
		return err
	case f.Info.Digest != a.Digest || f.Info.Size != a.Size || f.Info.MIMEType != a.MIMEType:
		return &Error{Name: a.Name, Why: "its bytes are not those that the job names"}
	}
	return nil
}

// Types of attachments beside those of images.
const (
	TypePDF  = "application/pdf"
	TypeText = "text/plain"
)

// Type returns the media type of what can be attached: an image, a PDF or text. It is empty for
// everything else.
func Type(data []byte) string {
	switch {
	case ImageType(data) != "":
		return ImageType(data)
	case PDFType(data) != "":
		return TypePDF
	case len(data) > 0 && utf8.Valid(data) && !strings.ContainsRune(string(data), 0):
		return TypeText
	}
	return ""
}

// ImageType returns the type of an image that models can see, or "".
func ImageType(data []byte) string {
	starts := func(magic string) bool { return len(data) >= len(magic) && string(data[:len(magic)]) == magic }
	switch {
	case starts("\x89PNG\r\n\x1a\n"):
		return "image/png"
	case starts("\xff\xd8\xff"):
		return "image/jpeg"
	case starts("GIF87a"), starts("GIF89a"):
		return "image/gif"
	case starts("RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// PDFType returns the type of a PDF file, or "".
func PDFType(data []byte) string {
	if len(data) >= 5 && string(data[:5]) == "%PDF-" {
		return TypePDF
	}
	return ""
}
