package wizard

import (
	"context"
	"time"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// Fail shows an error until a key is pressed.
func (w *Wizard) Fail(ctx context.Context, text string) error {
	f := &failure{text: text, reply: newReply()}
	return w.ask(ctx, f, f.reply).err
}

type failure struct {
	text  string
	reply reply
}

func (f *failure) press(string, string, time.Duration) { f.reply.give(answer{}) }

func (f *failure) render(width, _ int, _ paint.Palette) (v view) {
	for _, line := range columns.Wrap("Error: "+f.text, max(width, 20)) {
		v.lines = append(v.lines, paint.Text(line, paint.Red))
	}
	v.lines = append(v.lines, paint.Cut(paint.Text("Press any key to go back", paint.Quiet), width))
	return v
}
