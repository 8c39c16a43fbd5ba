package engine

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store/memory"
)

// The parts of an attached image and of an attached text. Engines do not look at what is in them.
const (
	somePicture = "\x89PNG\r\n\x1a\nsome picture"
	someNotes   = "some notes\n"
)

// withFiles returns an input with an image and a text, and hands their bytes to the bench.
func (b *bench) withFiles(in job.Input) job.Input {
	b.attached = map[string][]byte{"sha256:1": []byte(somePicture), "sha256:2": []byte(someNotes)}
	in.Attachments = []event.Attachment{
		{Name: "shot.png", MIMEType: "image/png", Size: int64(len(somePicture)), Digest: "sha256:1"},
		{Name: "notes \"x\".txt", MIMEType: "text/plain", Size: int64(len(someNotes)), Digest: "sha256:2"},
	}
	return in
}

// asked returns what the model was last asked, as type and content of each part of the newest message
// of the user.
func (b *bench) asked() (parts []string) {
	b.t.Helper()
	messages := b.script.requests[len(b.script.requests)-1].Messages
	for _, m := range slices.Backward(messages) {
		if m.Type != event.UserMessage {
			continue
		}
		for _, p := range m.Contents {
			parts = append(parts, string(p.Type)+" "+p.MIMEType+" "+p.Text+p.EncodedData)
		}
		return parts
	}
	b.t.Fatal("no message of the user")
	return nil
}

var wantFiles = []string{
	"textPart  look",
	`textPart  [attachment 1: "shot.png", image/png, 20 bytes]`,
	"imageInlinePart image/png " + base64.StdEncoding.EncodeToString([]byte(somePicture)),
	"textPart  [attachment 2: \"notes \\\"x\\\".txt\", text/plain, 11 bytes]\nsome notes\n\n[end of attachment 2]",
}

// The model gets the query and the files in one message. They are recorded once, and the record is all
// that a resumed Run needs.
func TestAttachments(t *testing.T) {
	b := newBench(t, does("act"), says("seen"), says("again"))
	b.must(b.withFiles(job.Input{Query: "look"}))
	if d := cmp.Diff(wantFiles, b.asked()); d != "" {
		t.Errorf("the message is another (-want +got):\n%s", d)
	}
	records := strings.Join(b.records(), "\n")
	for _, once := range []string{base64.StdEncoding.EncodeToString([]byte(somePicture)), "some notes", `"digest":"sha256:1"`} {
		if n := strings.Count(records, once); n != 1 {
			t.Errorf("%s is in the journal %d times", once, n)
		}
	}
	first := last[event.StartRun](b)
	if len(first.Attachments) != 2 || first.Attachments[1].Name != `notes "x".txt` || b.written()[0].Event.Body.(event.StartRun).InputMessages[1].Text() != "look" {
		t.Errorf("startRun names %+v", first.Attachments)
	}

	same := newBench(t, does("act"), says("seen"), says("again"))
	same.must(same.withFiles(job.Input{Query: "look"}))
	if d := cmp.Diff(b.records(), same.records()); d != "" {
		t.Errorf("two runs write different records:\n%s", d)
	}

	b.attached = nil // another process
	b.must(job.Input{Query: "and now?", Continue: true})
	messages := b.script.requests[len(b.script.requests)-1].Messages
	if got := messages[1].Contents; len(got) != len(wantFiles) || got[2].EncodedData != base64.StdEncoding.EncodeToString([]byte(somePicture)) {
		t.Errorf("a continued conversation has %+v", got)
	}
	if again := last[event.StartRun](b); len(again.Attachments) != 0 {
		t.Errorf("a query without files has %+v", again.Attachments)
	}
}

// A process that dies before the model is asked does not take the files with it.
func TestAttachmentsAfterACrash(t *testing.T) {
	b := newBench(t, says("seen"))
	b.killedAfter("writer", "startRun", b.withFiles(job.Input{Query: "look"}))
	b.attached = nil
	b.must(job.Input{Continue: true})
	if d := cmp.Diff(wantFiles, b.asked()); d != "" {
		t.Errorf("the message is another (-want +got):\n%s", d)
	}
}

// Files can be attached to a query that continues a job.
func TestAttachmentsOfALaterQuery(t *testing.T) {
	b := newBench(t, says("hello"), says("seen"))
	b.must(job.Input{Query: "hi"})
	b.must(b.withFiles(job.Input{Query: "look", Continue: true}))
	if d := cmp.Diff(wantFiles, b.asked()); d != "" {
		t.Errorf("the message is another (-want +got):\n%s", d)
	}
	if n := len(last[event.StartRun](b).Attachments); n != 2 {
		t.Errorf("startRun names %d files", n)
	}
}

// A delegate is given its query by its parent, whose record could not hold the files a second time.
func TestAttachmentsForADelegate(t *testing.T) {
	b := family(t)
	at := b.point("helper", "completeRun", 0)
	before := len(b.written())
	_, err := b.run(t.Context(), b.withFiles(job.Input{Query: "look", Continue: true, From: at.State.CheckpointID}))
	if err == nil || !strings.Contains(err.Error(), "files can be attached only to a query for the coordinator") {
		t.Errorf("%v", err)
	}
	if n := len(b.written()); n != before {
		t.Errorf("%d records were written", n-before)
	}
}

// A container cannot say that the user attached something else.
func TestFollowerRefusesOtherAttachments(t *testing.T) {
	b := newBench(t)
	in := b.withFiles(job.Input{Query: "look"})
	start := func(runID string, files ...event.Attachment) event.Event {
		e := b.startOf(runID, nil, nil)
		body := e.Body.(event.StartRun)
		body.Attachments = files
		e.Body = body
		return e
	}
	renamed := slices.Clone(in.Attachments)
	renamed[0].Name = "other.png"
	for name, files := range map[string][]event.Attachment{"none": nil, "one": in.Attachments[:1], "another": renamed} {
		f := newFollower(t, b, memory.New(), in, nil)
		if _, err := f.Append(start("run", files...)); !errors.Is(err, ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := newFollower(t, b, memory.New(), in, nil)
	if _, err := f.Append(start("run", in.Attachments...)); err != nil {
		t.Error(err)
	}
}
