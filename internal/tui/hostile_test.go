package tui

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// hostile is text that a terminal acts upon, that hides something, or that takes more space than it seems.
const hostile = "\x1b[2J\x1b]52;c;aGk=\x07\x1b]0;title\x07\r\n\x9b31m\u202eevil\u2066\u200b\x00\x7f\t日本語👨‍👩‍👧\u0301\U000f0000" + "key-12345 "

// spoil puts hostile text into every text of a value.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(hostile + v.String())
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Kind() == reflect.Pointer {
			spoil(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !strings.HasSuffix(name, "ID") && name != "Type" && name != "Kind" {
				spoil(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	}
}

// spoiled returns an event with hostile texts.
func spoiled(e event.Event) event.Event {
	body := reflect.New(reflect.TypeOf(e.Body)).Elem()
	body.Set(reflect.ValueOf(e.Body))
	spoil(body)
	e.Body = body.Interface().(event.Body)
	if e.ExpertKey != "" {
		e.ExpertKey = hostile + e.ExpertKey
	}
	return e
}

// checkScreen fails if what is drawn has anything but text and styles, is too wide, or has a secret.
func checkScreen(t *testing.T, d *driver, what string) {
	t.Helper()
	for i, line := range strings.Split(d.p.View().Content, "\n") {
		text := plain(line)
		for _, r := range text {
			if unicode.IsControl(r) || r == '\u202e' || r == '\u2066' || r == '\u200b' || r >= 0xf0000 {
				t.Errorf("%s: line %d has %q: %q", what, i+1, r, text)
				break
			}
		}
		if w := paint.TextWidth(text); w > d.p.width {
			t.Errorf("%s: line %d has %d columns: %q", what, i+1, w, text)
		}
		if strings.Contains(text, "key-12345") {
			t.Errorf("%s: line %d has a secret: %q", what, i+1, text)
		}
	}
}

// Nothing that comes from outside reaches the terminal as it is: no text of an event, a question, a
// project or an attachment.
func TestHostileTexts(t *testing.T) {
	redact := func(o *Options) {
		o.Redact = func(text string) string { return strings.ReplaceAll(text, "key-12345", "[redacted: KEY]") }
		o.Name, o.Expert = hostile, hostile
	}
	for _, size := range sizes {
		d, s := chatting(t, size.width, size.height, redact)
		d.project.paths = []string{"a" + hostile}
		d.project.attachments = map[string]Attachment{"a.png": {Path: "a.png", Name: hostile, Kind: hostile}}
		events := tripEvents(t)
		c, q := removeCall(), askCall()
		events = append(events,
			happened("F", 4, calls("text", c)), happened("F", 4, event.StartToolCall{ToolCallID: c.ID}), happened("F", 5, returned(c, `{"output":"a\nb"}`)),
			happened("F", 5, event.CallInteractiveTool{ToolCall: &q}), happened("F", 5, event.Retry{Reason: "busy", DelayMS: 5000}),
			happened("F", 5, event.StreamReasoning{Delta: "hm"}), happened("F", 5, event.StreamText{Delta: "line\nmore words"}),
			happened("R", 6, event.StopRunByError{Error: event.Failure{Name: "e", Message: "m"}}), happened("R", 6, event.DefinitionChanged{Expert: "x"}),
			happened("R", 7, event.CompleteRun{NewMessage: says(event.ExpertMessage, "# done\n\n`code`")}))
		for _, e := range events {
			d.play(s, spoiled(e))
			checkScreen(t, d, fmt.Sprintf("%T", e.Body))
		}
		d.enter("@a.png " + strings.NewReplacer("key-12345", "", "\t", "").Replace(hostile))
		d.settle()
		checkScreen(t, d, "input")
		r := approvalRequest()
		spoil(reflect.ValueOf(&r))
		d.ask(s, r)
		checkScreen(t, d, "approval")
		d.pass(readingTime)
		d.press("tab")
		checkScreen(t, d, "focused approval")
		d.press("d")
		checkScreen(t, d, "detail of an approval")
		d.press("esc", "esc")
		for _, k := range []string{"ctrl+t", "ctrl+p", "f1"} {
			d.press(k)
			checkScreen(t, d, k)
			d.press("esc")
		}
		s.confirm <- hostile
		d.until("the question is there", func() bool { return len(d.p.chat.asks) == 2 })
		d.p.chat.asks = d.p.chat.asks[1:]
		d.p.View()
		checkScreen(t, d, "confirm")
		s.fails = fmt.Errorf("open %s: no", hostile)
		close(s.events)
		d.until("the job ends", func() bool { return d.p.chat.work == nil })
		checkScreen(t, d, "error")
	}
}
