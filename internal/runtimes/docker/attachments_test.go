package docker

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/attachment"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store/memory"
)

// Attachments that would not fit into a line, or that the model does not take, are refused before the
// daemon is asked for anything.
func TestAttachments(t *testing.T) {
	for name, tt := range map[string]struct {
		file  string
		count int
		want  string // "" for none
	}{
		"one":            {"text", 1, ""},
		"as many as fit": {strings.Repeat("x", job.MaxAttachmentBytes), 7, ""},
		"more":           {strings.Repeat("x", job.MaxAttachmentBytes), 8, "the attachments have 53.3 MiB as they are sent, and a container takes 48 MiB"},
		// Each of these characters takes six as it is sent.
		"odd ones":     {strings.Repeat("\x01", job.MaxAttachmentBytes), 2, "the attachments have 60 MiB as they are sent"},
		"not an image": {"GIF89a", 1, "takes png, jpeg, webp"},
	} {
		spec := job.Spec{
			Settings: job.Settings{Provider: "google", Model: "gemini-2.5-pro", Runtime: job.Docker},
			Expert:   "lead", Experts: []*expert.Expert{{Key: "lead", Name: "lead"}},
		}
		parts := engine.Parts{
			Store: memory.New(), Secrets: new(secret.Set), Log: slog.New(slog.DiscardHandler),
			Variables: func(name string) engine.Variable {
				return engine.Variable{Value: map[string]string{"GEMINI_API_KEY": "k"}[name]}
			},
			Attachments: make(map[string][]byte),
		}
		for i := range tt.count {
			f, err := attachment.New("file", []byte(tt.file[:len(tt.file)-i]))
			if err != nil {
				t.Fatal(err)
			}
			spec.Input.Attachments = append(spec.Input.Attachments, f.Info)
			parts.Attachments[f.Info.Digest] = f.Data
		}
		r, err := prepare(spec, parts)
		switch {
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want an error with %q", name, err, tt.want)
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want == "":
			line, err := hostlink.Encode(hostlink.Down{Document: &hostlink.Document{Spec: r.spec, Attachments: r.parts.Attachments}})
			if err != nil || len(line) >= hostlink.MaxLine {
				t.Errorf("%s: a line of %d bytes, %v", name, len(line), err)
			}
		}
	}
}
