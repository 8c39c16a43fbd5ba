//go:build unix

package inside

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/attachment"
)

// The bytes of attachments come with the document, and reach the host in the first event.
func TestAttachments(t *testing.T) {
	const picture = "\x89PNG\r\n\x1a\npixels"
	file, err := attachment.New("shot.png", []byte(picture))
	if err != nil {
		t.Fatal(err)
	}
	doc := document(t, alone, says)
	doc.Spec.Input.Attachments = []event.Attachment{file.Info}
	doc.Attachments = map[string][]byte{file.Info.Digest: file.Data}
	d := newFakeHost(t)
	d.succeed(doc)
	start, ok := d.events[0].Body.(event.StartRun)
	if !ok || len(start.Attachments) != 1 || start.Attachments[0].Name != "shot.png" {
		t.Fatalf("the first event is %+v", d.events[0].Body)
	}
	parts := start.InputMessages[len(start.InputMessages)-1].Contents
	if got := parts[len(parts)-1]; got.Type != event.ImageInlinePart || got.EncodedData != base64.StdEncoding.EncodeToString([]byte(picture)) {
		t.Errorf("the message ends with %+v", got)
	}

	doc.Attachments[file.Info.Digest] = []byte(picture + "!")
	doc.Spec.JobID = "job2"
	if end := newFakeHost(t).fails(doc, stands); end.Kind != "input" || !strings.Contains(end.Error, "its bytes are not those") {
		t.Errorf("with other bytes: %+v", end)
	}
}
