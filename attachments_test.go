package perstack_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store/memory"
)

const (
	picture  = "\x89PNG\r\n\x1a\npixels"
	document = "%PDF-1.7\npages"
)

// A program attaches bytes. The Spec names them, and the model gets them.
func TestAttach(t *testing.T) {
	spec := newSpec(t, named("lead"))
	parts := perstack.Parts{Model: player(t, "[[turn]]\ntext = \"Seen.\"\n")}
	for name, data := range map[string]string{"shot.png": picture, "paper.pdf": document, "notes.md": "# Notes"} {
		if err := perstack.Attach(&spec, &parts, name, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := perstack.Attach(&spec, &parts, "program", []byte("\x7fELF\x00")); err == nil || !strings.Contains(err.Error(), "no image") {
		t.Errorf("a program: %v", err)
	}
	text, err := spec.MarshalJSON()
	if err != nil || strings.Contains(string(text), "pixels") || !strings.Contains(string(text), `"digest":"sha256:`) {
		t.Errorf("the Spec is %s, %v", text, err)
	}
	var kinds []string
	for e, err := range perstack.Run(t.Context(), spec, parts) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(event.StartGeneration); ok {
			for _, p := range b.Messages[len(b.Messages)-1].Contents {
				kinds = append(kinds, strings.TrimSpace(string(p.Type)+" "+p.MIMEType))
			}
		}
	}
	got := strings.Join(kinds, ", ")
	for _, want := range []string{"imageInlinePart image/png", "fileInlinePart application/pdf"} {
		if !strings.Contains(got, want) {
			t.Errorf("the model gets %s", got)
		}
	}
	if !strings.HasPrefix(got, "textPart, ") || len(kinds) != 6 { // the query, two labels, two files, and the notes with theirs
		t.Errorf("the model gets %s", got)
	}
}

// A file that a model cannot be sent is an error before anything is recorded, whichever provider has it.
func TestAttachRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		provider, model string
		entry           expert.ModelEntry
		file            string
		change          func(*job.Spec, *perstack.Parts)
		want            string
	}{
		"no images":      {provider: "deepseek", model: "deepseek-chat", file: picture, want: "the model deepseek-chat takes no images"},
		"no PDF":         {provider: "anthropic", model: "claude-3-haiku-20240307", file: document, want: "the model claude-3-haiku-20240307 takes no PDF files"},
		"said so":        {provider: "anthropic", model: "claude-sonnet-4-5", entry: expert.ModelEntry{Images: new(false)}, file: picture, want: "takes no images"},
		"by the wire":    {provider: "openai-compatible", model: "mine", entry: expert.ModelEntry{PDF: new(true)}, file: document, want: "this provider takes png, jpeg, gif, webp and text"},
		"of a server":    {provider: "ollama", model: "unknown", file: document, want: "this provider takes png, jpeg, gif, webp and text"},
		"another type":   {provider: "google", model: "gemini-2.5-pro", file: "GIF89a", want: "this provider takes png, jpeg, webp"},
		"too large":      {provider: "anthropic", model: "claude-sonnet-4-5", file: picture + strings.Repeat("x", 4<<20), want: "it is too large for this provider"},
		"unknown images": {provider: "deepseek", model: "deepseek-new", file: picture, want: "this model cannot look at it"},
		"own model": {
			provider: "replay", model: "mine", entry: expert.ModelEntry{Images: new(false)}, file: picture, want: "the model mine takes no images",
			change: func(_ *job.Spec, p *perstack.Parts) { p.Model = player(t, "[[turn]]\ntext = \"x\"\n") },
		},
		"no bytes": {provider: "anthropic", model: "claude-sonnet-4-5", file: picture, want: `cannot attach "file": empty`,
			change: func(_ *job.Spec, p *perstack.Parts) { p.Attachments = nil }},
		"other bytes": {provider: "anthropic", model: "claude-sonnet-4-5", file: picture, want: "its bytes are not those that the job names",
			change: func(s *job.Spec, p *perstack.Parts) {
				p.Attachments[s.Input.Attachments[0].Digest] = []byte(picture + "!")
			}},
		"called an image": {provider: "anthropic", model: "claude-sonnet-4-5", file: "text", want: "its bytes are not those that the job names",
			change: func(s *job.Spec, _ *perstack.Parts) { s.Input.Attachments[0].MIMEType = "image/png" }},
		"in a container": {provider: "google", model: "gemini-2.5-pro", file: "GIF89a", want: "this provider takes png, jpeg, webp",
			change: func(s *job.Spec, _ *perstack.Parts) { s.Runtime = job.Docker }},
	} {
		t.Run(name, func(t *testing.T) {
			spec, history := newSpec(t, named("lead")), memory.New()
			spec.Provider, spec.Model, spec.Models = tt.provider, tt.model, map[string]expert.ModelEntry{tt.model: tt.entry}
			parts := perstack.Parts{Store: history, StateDir: t.TempDir(), Environ: []string{
				"ANTHROPIC_API_KEY=k", "DEEPSEEK_API_KEY=k", "GEMINI_API_KEY=k", "OPENAI_COMPATIBLE_BASE_URL=http://127.0.0.1:9/v1",
				"OLLAMA_BASE_URL=http://127.0.0.1:11434",
			}}
			if err := perstack.Attach(&spec, &parts, "file", []byte(tt.file)); err != nil {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(&spec, &parts)
			}
			_, err := perstack.Answer(t.Context(), spec, parts)
			kind, _ := errors.AsType[*engine.Error](err)
			if kind == nil || kind.Kind != engine.KindInput || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want an error with %q", err, tt.want)
			}
			for job := range history.Jobs(t.Context()) {
				t.Errorf("job %s was recorded", job.ID)
			}
		})
	}
}
