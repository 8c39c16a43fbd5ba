package attachment

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

const png = "\x89PNG\r\n\x1a\n"

// What a file is, its content says. Names have no part in it.
func TestType(t *testing.T) {
	for name, tt := range map[string]struct{ data, want string }{
		"png":                {png + "\x00\x01", "image/png"},
		"jpeg":               {"\xff\xd8\xff\xe0\x00", "image/jpeg"},
		"old gif":            {"GIF87a\x01", "image/gif"},
		"gif":                {"GIF89a\x01", "image/gif"},
		"webp":               {"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"},
		"pdf":                {"%PDF-1.7\n\xe2\xe3", "application/pdf"},
		"text":               {"a\tb\r\n", "text/plain"},
		"other letters":      {"日本語, ελληνικά", "text/plain"},
		"a mark and text":    {"\ufefftext", "text/plain"},
		"coloured text":      {"\x1b[1mbold\x1b[0m", "text/plain"},
		"svg is text":        {"<svg/>", "text/plain"},
		"almost a png":       {"\x89PNG\r\n\x1a", ""},
		"a wave is no image": {"RIFF\x00\x00\x00\x00WAVEfmt ", ""},
		"half a webp":        {"RIFF\x00\x00\x00\x00WEB", ""},
		"late pdf":           {"\xff\n%PDF-1.7", ""},
		"utf-16":             {"\xff\xfea\x00", ""},
		"latin-1":            {"caf\xe9", ""},
		"a zero byte":        {"text\x00text", ""},
		"a program":          {"\x7fELF\x02\x01\x01\x00", ""},
		"nothing":            {"", ""},
	} {
		if got := Type([]byte(tt.data)); got != tt.want {
			t.Errorf("%s is %q, want %q", name, got, tt.want)
		}
	}
}

func TestNew(t *testing.T) {
	f, err := New("a.txt", []byte(png))
	if err != nil {
		t.Fatal(err)
	}
	want := event.Attachment{Name: "a.txt", MIMEType: "image/png", Size: 8, Digest: "sha256:4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6"}
	if f.Info.Name != want.Name || f.Info.MIMEType != want.MIMEType || f.Info.Size != want.Size || f.Info.Digest != want.Digest {
		t.Errorf("%+v, want %+v", f.Info, want)
	}
	if err := Check(f.Info, f.Data); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*event.Attachment){
		"digest": func(a *event.Attachment) { a.Digest = "sha256:00" },
		"size":   func(a *event.Attachment) { a.Size++ },
		"type":   func(a *event.Attachment) { a.MIMEType = "image/gif" },
	} {
		other := f.Info
		change(&other)
		if err := Check(other, f.Data); err == nil || !strings.Contains(err.Error(), "its bytes are not those") {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if err := Check(f.Info, nil); err == nil {
		t.Error("no bytes are accepted")
	}
	if _, err := New("x", bytes.Repeat([]byte("x"), job.MaxAttachmentBytes)); err != nil {
		t.Errorf("the largest one: %v", err)
	}
	if _, err := New("x", bytes.Repeat([]byte("x"), job.MaxAttachmentBytes+1)); err == nil || !strings.Contains(err.Error(), "larger than 5 MiB") {
		t.Errorf("a larger one: %v", err)
	}
	long, err := New(strings.Repeat("ä", 200)+"\xff", []byte("x"))
	if err != nil || len(long.Info.Name) > job.MaxAttachmentName || !utf8.ValidString(long.Info.Name) {
		t.Errorf("a long name: %d bytes, %v", len(long.Info.Name), err)
	}
}

// Whatever the bytes are, what they are taken for is what they are sent as, and text can be recorded.
func FuzzType(f *testing.F) {
	for _, seed := range []string{"", png, "GIF89a", "%PDF-", "RIFF0000WEBP", "\xff\xd8\xff", "text", "\xff", "a\x00", "\xed\xa0\x80"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kind := Type(data)
		file, err := New("name", data)
		if (err == nil) != (kind != "") {
			t.Fatalf("type %q, and %v", kind, err)
		}
		if err != nil {
			return
		}
		if err := Check(file.Info, data); err != nil {
			t.Fatal(err)
		}
		if kind == TypeText && (!utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0) {
			t.Fatalf("%q is taken for text", data)
		}
		if kind != TypeText && Type(append(bytes.Clone(data), 0xff, 0)) != kind {
			t.Fatalf("what follows the head of %q changes its type", data)
		}
	})
}
