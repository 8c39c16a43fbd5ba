package converse

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

var (
	imageFormats    = []string{"png", "jpeg", "gif", "webp"}
	documentFormats = []string{"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"}

	documentName = regexp.MustCompile(`^[a-zA-Z0-9()\[\]-]+(\s[a-zA-Z0-9()\[\]-]+)*$`)
)

func (g *glance) checkMessages() *script.Problem {
	if len(g.Messages) == 0 {
		return invalid("The messages field is required. Provide at least one message, and try again.")
	}
	for i, m := range g.Messages {
		switch {
		case m.Role != "user" && m.Role != "assistant":
			return invalid("1 validation error detected: Value '%s' at 'messages.%d.member.role' failed to satisfy constraint: Member must satisfy enum value set: [user, assistant]", m.Role, i)
		case i == 0 && m.Role != "user":
			return invalid("A conversation must start with a user message. Try again with a conversation that starts with a user message.")
		case i > 0 && m.Role == g.Messages[i-1].Role:
			return invalid("A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.")
		case len(m.Content) == 0:
			return invalid("The content field in the Message object at messages.%d is empty. Add a ContentBlock object to the content field and try again.", i)
		}
		for j := range m.Content {
			at := fmt.Sprintf("messages.%d.content.%d", i, j)
			if p := g.checkBlock(&m, j, at); p != nil {
				return p
			}
		}
		if p := g.checkMedia(&m, i); p != nil {
			return p
		}
	}
	return g.checkEnd()
}

// checkEnd refuses last words of the assistant that end in space: the model would continue
// after it.
func (g *glance) checkEnd() *script.Problem {
	last := g.Messages[len(g.Messages)-1]
	if b := last.Content[len(last.Content)-1]; g.isClaude() && last.Role == "assistant" && b.Text != nil && *b.Text != strings.TrimRight(*b.Text, " \t\r\n") {
		return invalid("The model returned the following errors: messages: final assistant content cannot end with trailing whitespace")
	}
	return nil
}

func (g *glance) checkBlock(m *message, j int, at string) *script.Problem {
	b := &m.Content[j]
	user := m.Role == "user"
	switch {
	case b.members() != 1:
		return invalid("The ContentBlock object at %s must set one of the following keys: text, image, toolUse, toolResult, document, reasoningContent, cachePoint.", at)
	case b.Text != nil:
		return checkText(*b.Text, at)
	case b.Image != nil || b.Document != nil:
		if !user {
			return invalid("Only user messages can contain images and documents: %s", at)
		}
		return g.checkMedium(b, at)
	case b.ToolUse != nil:
		switch {
		case user:
			return invalid("The toolUse at %s is in a message of the user.", at)
		case !name.MatchString(b.ToolUse.ID) || !name.MatchString(b.ToolUse.Name):
			return invalid("1 validation error detected: Value at '%s.toolUse' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+", at)
		case b.ToolUse.Input.Kind() != '{':
			return invalid("The format of the value at %s.toolUse.input is invalid. Provide a json object for the field and try again.", at)
		}
	case b.ToolResult != nil:
		if !user {
			return invalid("The toolResult at %s is in a message of the assistant.", at)
		}
		return g.checkResult(b.ToolResult, at)
	case b.Reasoning != nil:
		if user {
			return invalid("User messages cannot contain reasoning content. Please remove the reasoning content and try again.")
		}
		return g.checkReasoning(b.Reasoning, at)
	case b.CachePoint != nil:
		switch {
		case j == 0:
			return invalid("There is nothing available to cache.")
		case m.Content[j-1].Reasoning != nil:
			return invalid("Cache point cannot be inserted after reasoning block. Please remove the invalid cache point and try again.")
		case m.Content[j-1].Document != nil:
			return invalid("The model returned the following errors: %s.type: Field required", at)
		}
		return g.point(b.CachePoint)
	}
	return nil
}

func checkText(text, at string) *script.Problem {
	if strings.TrimSpace(text) == "" {
		return invalid("The text field in the ContentBlock object at %s is blank. Add text to the text field, and try again.", at)
	}
	return nil
}

func (g *glance) checkMedium(b *block, at string) *script.Problem {
	if b.Image != nil {
		switch n := len(b.Image.Source.Bytes); {
		case !slices.Contains(imageFormats, b.Image.Format) || b.Image.Name != "":
			return invalid("1 validation error detected: Value '%s' at '%s.image.format' failed to satisfy constraint: Member must satisfy enum value set: [gif, jpeg, png, webp]", b.Image.Format, at)
		case n == 0 || n > 3_750_000:
			return invalid("The image at %s is empty, or larger than 3.75 MB.", at)
		}
		return nil
	}
	d := b.Document
	switch n := len(d.Source.Bytes); {
	case !slices.Contains(documentFormats, d.Format):
		return invalid("1 validation error detected: Value '%s' at '%s.document.format' failed to satisfy constraint: Member must satisfy enum value set", d.Format, at)
	case n == 0 || n > 4_500_000:
		return invalid("The document at %s is empty, or larger than 4.5 MB.", at)
	case !documentName.MatchString(d.Name):
		return invalid("The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets. The name can't contain more than one consecutive whitespace character.")
	case g.documents[d.Name]:
		return invalid("Messages can't contain duplicate document names. Rename the document and retry your request.")
	}
	g.documents[d.Name] = true
	return nil
}

// checkMedia counts what a request may have only so many of.
func (g *glance) checkMedia(m *message, i int) *script.Problem {
	beside := false
	for _, b := range m.Content {
		g.count(&b)
		beside = beside || b.Document != nil
		if b.ToolResult != nil {
			for _, inner := range b.ToolResult.Content {
				g.count(&inner)
			}
		}
	}
	switch {
	case g.papers > 5:
		return invalid("You can't include more than 5 documents in a request. Reduce the number of documents and retry your request.")
	case g.images+g.papers > 20:
		return invalid("The model returned the following errors: too many images and documents: %d + %d > 20", g.images, g.papers)
	case beside && !m.has(func(b *block) bool { return b.Text != nil }):
		return invalid("The message at messages.%d has a document and no text. Add a text block and try again.", i)
	}
	return nil
}

func (g *glance) count(b *block) {
	if b.Image != nil {
		g.images++
	}
	if b.Document != nil {
		g.papers++
	}
}

func (g *glance) checkResult(r *toolResult, at string) *script.Problem {
	if !slices.Contains([]string{"", "success", "error"}, r.Status) || r.Status != "" && !g.isClaude() && !g.isNova() {
		return invalid("The status field at %s.toolResult is not supported: %q", at, r.Status)
	}
	for i, b := range r.Content {
		inside := fmt.Sprintf("%s.toolResult.content.%d", at, i)
		switch {
		case b.members() != 1 || b.Text == nil && b.Image == nil && b.Document == nil:
			return invalid("The value at %s is not one of text, image, document, json and video.", inside)
		case b.Text != nil:
			if p := checkText(*b.Text, inside); p != nil {
				return p
			}
			continue
		case r.Status == "error" && g.isClaude():
			return invalid("The model returned the following errors: %s: all content must be type text if is_error is true", inside)
		case !g.isClaude() && !g.isNova():
			return invalid("This model doesn't support the image or document field at %s.", inside)
		}
		if p := g.checkMedium(&b, inside); p != nil {
			return p
		}
	}
	return nil
}
