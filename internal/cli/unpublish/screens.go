package unpublish

import (
	"context"

	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/tui/paint"
	"github.com/perstack-go/perstack/internal/tui/wizard"
)

// choose lets the user choose the version on screens.
func (o *Options) choose(ctx context.Context, s *published.Session) error {
	var chosen published.Chosen
	left, err := s.Screens(ctx, func(ctx context.Context, w *wizard.Wizard) error {
		return s.ChooseVersion(ctx, w, "Select an Expert to unpublish:", " to unpublish", func(c published.Chosen) error {
			chosen = c
			mark := "⚠"
			if !o.Host.UTF8() {
				mark = "!"
			}
			at, err := w.Choose(ctx, wizard.Choice{
				Title: paint.Text(mark+" Unpublish "+c.Key.String()+"?", paint.Red|paint.Bold),
				About: []paint.Line{
					paint.Text("Version: "+c.Key.Version, 0),
					paint.Text("This is permanent: the content is erased,", 0),
					paint.Text("and the number cannot be used again.", 0),
				},
				Rows: []paint.Line{paint.Text("Yes, unpublish", 0), paint.Text("Cancel", 0)}, At: 1, Back: true, Enter: "select", Careful: true,
			})
			if err == nil && at == 1 {
				err = wizard.ErrBack
			}
			return err
		})
	})
	if left || err != nil {
		return err
	}
	return o.remove(ctx, chosen.Registry, chosen.Key)
}
