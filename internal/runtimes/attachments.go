package runtimes

import (
	"errors"
	"fmt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/attachment"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// CheckAttachments refuses files that are not what the Spec says, or that the model of the coordinator
// cannot be sent.
func CheckAttachments(spec job.Spec, data map[string][]byte, m model.Model) error {
	for _, a := range spec.Input.Attachments {
		if err := attachment.Check(a, data[a.Digest]); err != nil {
			return err
		}
	}
	if len(spec.Input.Attachments) == 0 {
		return nil
	}
	choice := spec.ModelOf(spec.Coordinator())
	known, _ := model.Lookup(choice.Provider, choice.Model)
	known = known.With(spec.Models[choice.Model])
	var parts []event.Part
	var of []event.Attachment // of each part
	for i, a := range spec.Input.Attachments {
		refused := func(what string) error {
			return fmt.Errorf("cannot attach %.200q: the model %s takes no %s; choose another model, or leave the file out", a.Name, choice.Model, what)
		}
		switch {
		case a.MIMEType == attachment.TypePDF && known.PDF == model.Unable:
			return refused("PDF files")
		case a.IsImage() && known.Images == model.Unable:
			return refused("images")
		}
		for _, p := range a.Parts(i+1, data[a.Digest]) {
			parts, of = append(parts, p), append(of, a)
		}
	}
	checker, ok := m.(model.MediaChecker)
	if !ok {
		return nil
	}
	err := checker.CheckMedia(spec.Expert, parts)
	if media, ok := errors.AsType[*model.MediaError](err); ok && media.Part < len(of) {
		return fmt.Errorf("cannot attach %.200q for the model %s: %w", of[media.Part].Name, choice.Model, err)
	}
	return err
}
