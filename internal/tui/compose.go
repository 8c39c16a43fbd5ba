package tui

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/tui/edit"
	"github.com/perstack-go/perstack/internal/tui/mention"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// This file is the input of a conversation: what is typed, pasted, attached, queued and sent.

// A queued message waits until the job has stopped.
type queued struct {
	message edit.Message
	draft   edit.Draft
}

// pathsState says how far the list for completion is.
type pathsState int

const (
	pathsUnknown pathsState = iota
	pathsAsked
	pathsKnown
)

// typed takes in text that was typed.
func (c *chat) typed(text string) tea.Cmd {
	before := c.input.BeforeCursor()
	if err := c.input.Insert(text); err != nil {
		c.p.fail(err)
		return nil
	}
	cmd := c.complete()
	if text == " " && !c.input.Searching() { // a path that was written out
		if all := mention.Find(before); len(all) > 0 && all[len(all)-1].End == len(before) {
			last := all[len(all)-1]
			cmd = tea.Batch(cmd, c.attach(last.Path, before[last.Begin:last.End]))
		}
	}
	return cmd
}

// paste takes in text that was pasted. The path of an image becomes an attachment.
func (c *chat) paste(text string) tea.Cmd {
	if c.isFollowing() {
		return nil
	}
	if a := c.current(); a != nil && a.focused {
		a.paste(text)
		return nil
	}
	if c.finding != nil {
		c.report(c.finding.Insert(text))
		return nil
	}
	if err := c.input.Paste(text); err != nil {
		c.p.fail(err)
		return nil
	}
	cmd := c.complete()
	if path, ok := pastedPath(text); ok {
		cmd = tea.Batch(cmd, c.attach(path, strings.TrimSpace(text)))
	}
	return cmd
}

func (c *chat) report(err error) {
	if err != nil {
		c.p.fail(err)
	}
}

// pastedPath returns the path that a terminal pastes when a file is dropped on it.
func pastedPath(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "\n\t") {
		return "", false
	}
	if n := len(text); n > 2 && (text[0] == '\'' || text[0] == '"') && text[n-1] == text[0] {
		text = text[1 : n-1]
	} else {
		text = strings.ReplaceAll(text, `\ `, " ")
	}
	text = strings.TrimPrefix(text, "file://")
	return text, text != "" && isAttachable(text)
}

// isAttachable reports whether a file is of a kind that a model is given as it is. Other files are
// mentioned, and Experts read them with their tools.
func isAttachable(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"}, strings.ToLower(path.Ext(name)))
}

// attach looks at a file that the user named, and shows it as a chip instead of its path.
func (c *chat) attach(path, written string) tea.Cmd {
	if !isAttachable(path) {
		return nil
	}
	return c.p.work(func(ctx context.Context) func() tea.Cmd {
		a, err := c.p.opts.Project.Attach(ctx, path)
		return func() tea.Cmd {
			switch {
			case err != nil:
				c.p.fail(err) // the text stays as it is
			case c.input.Attachments() >= job.MaxAttachments:
				c.p.fail(fmt.Errorf("a message can have %d attachments", job.MaxAttachments))
			default:
				_, err = c.input.AttachFor(written, c.p.cleanLine(label(a)), a.Path)
				c.report(err)
			}
			return nil
		}
	})
}

// label is how an attachment is shown.
func label(a Attachment) string {
	text := a.Kind + " " + a.Name + " " + wording.Bytes(a.Size)
	if a.Outside {
		text += ", outside the workspace"
	}
	return text
}

// complete opens or closes the menu of paths, after the input has changed.
func (c *chat) complete() tea.Cmd {
	if c.input.Searching() {
		return nil
	}
	c.menu.Update(c.input.BeforeCursor())
	if !c.menu.IsOpen() || c.paths != pathsUnknown {
		return nil
	}
	c.paths = pathsAsked
	return c.p.work(func(ctx context.Context) func() tea.Cmd {
		paths, cut, err := c.p.opts.Project.Paths(ctx)
		index := mention.NewIndex(paths, cut)
		return func() tea.Cmd {
			if err != nil {
				c.paths = pathsUnknown
				c.p.fail(err)
				return nil
			}
			c.paths = pathsKnown
			c.menu.SetIndex(index)
			return nil
		}
	})
}

// choose puts a path from the menu into the input.
func (c *chat) choose(choice mention.Choice) tea.Cmd {
	c.input.DeleteBefore(choice.Replace)
	if err := c.input.Insert(choice.Text); err != nil {
		c.p.fail(err)
		return nil
	}
	return tea.Batch(c.complete(), c.attach(choice.Path, strings.TrimSpace(choice.Text)))
}

// submit sends what is in the input: as the answer to a question, as the next message, or later.
func (c *chat) submit() tea.Cmd {
	a := c.current()
	if c.input.IsEmpty() && c.input.Attachments() == 0 {
		if !c.canResume() || !c.p.isAlone(key{name: "enter"}) {
			return nil
		}
		return c.resume()
	}
	if a != nil && a.isQuestion() && c.answering {
		if !a.wasRead(key{name: "enter"}) {
			return nil
		}
		if c.input.Attachments() > 0 {
			c.p.fail(errors.New("an answer can have no attachments; Tab sends the message to the job instead"))
			return nil
		}
		message := c.input.Take()
		c.answer(a, reply{answer: event.Answer{Text: message.Text}})
		return c.remember(message.Text)
	}
	if a != nil && !a.isQuestion() && a.isKey(strings.TrimSpace(c.input.Message().Text)) {
		c.p.say("this would be a message: press Tab first to answer the question")
		return nil
	}
	if text := c.input.Message().Text; c.waitsForPermission() && c.warned != text {
		c.warned = text
		c.p.say("the call that waits for your permission would not run; Enter sends the message anyway")
		return nil
	}
	draft := c.input.Draft()
	message := c.input.Take()
	if c.work != nil {
		c.queue = append(c.queue, queued{message, draft})
		return c.remember(message.Text)
	}
	cmd := c.send(message)
	c.work.draft = &draft
	return tea.Batch(cmd, c.remember(message.Text))
}

// send starts the job with a message, or continues it.
func (c *chat) send(m edit.Message) tea.Cmd {
	t := Task{Expert: c.expert, Query: m.Text, Attachments: m.Attachments, Job: c.jobID, Answer: c.answering}
	if b := c.branch; b != nil {
		t.Checkpoint, t.RestoreFiles, t.Answer = b.at.ID, b.restoreFiles, false
	}
	c.answering, c.warned = false, ""
	c.transcript.open = nil
	c.transcript.pager.End()
	return c.run(t)
}

// resume continues a job that has stopped before its end.
func (c *chat) resume() tea.Cmd {
	return c.run(Task{Expert: c.expert, Job: c.jobID})
}

// canResume reports whether the job can continue without another message.
func (c *chat) canResume() bool {
	if c.work != nil || c.jobID == "" || c.answering || c.branch != nil {
		return false
	}
	return c.transcript.coordinator().Phase != narrate.Completed
}

// waitsForPermission reports whether the job has stopped at a call that the user has not decided about.
func (c *chat) waitsForPermission() bool {
	return c.canResume() && slices.ContainsFunc(c.transcript.open, isPermission)
}

// remember stores an input for the next time.
func (c *chat) remember(text string) tea.Cmd {
	return c.p.work(func(ctx context.Context) func() tea.Cmd {
		err := c.p.opts.Project.Remember(ctx, text)
		return func() tea.Cmd {
			c.report(err)
			return nil
		}
	})
}

// unqueue takes the last queued message back into the input, if that is empty, and reports whether it
// did.
func (c *chat) unqueue() bool {
	if len(c.queue) == 0 || !c.input.IsEmpty() {
		return false
	}
	last := len(c.queue) - 1
	c.input.Restore(c.queue[last].draft)
	c.queue = c.queue[:last]
	return true
}

// clear empties the input.
func (c *chat) clear() {
	c.input.Clear()
	c.menu.Update("")
}
