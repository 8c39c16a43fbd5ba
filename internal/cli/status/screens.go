package status

import (
	"context"
	"errors"
	"slices"

	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/tui/paint"
	"github.com/perstack-go/perstack/internal/tui/wizard"
)

// choose lets the user choose a version and its status on screens.
func (o *Options) choose(ctx context.Context, s *published.Session) error {
	var chosen published.Chosen
	var status string
	left, err := s.Screens(ctx, func(ctx context.Context, w *wizard.Wizard) error {
		return s.ChooseVersion(ctx, w, "Select an Expert to change status:", "", func(c published.Chosen) (err error) {
			chosen = c
			status, err = chooseStatus(ctx, w, c, published.Arrow(o.Host))
			return err
		})
	})
	if left || err != nil {
		return err
	}
	return o.set(ctx, chosen.Registry, chosen.Key, status)
}

// chooseStatus asks for the new status, and for a confirmation.
func chooseStatus(ctx context.Context, w *wizard.Wizard, c published.Chosen, arrow string) (string, error) {
	about := []paint.Line{paint.Join(paint.Text("Current: ", paint.Quiet), published.Status(c.Version.Status))}
	offered := slices.DeleteFunc(slices.Clone(statuses), func(status string) bool { return status == c.Version.Status })
	var rows []paint.Line
	for _, status := range offered {
		rows = append(rows, published.Status(status))
	}
	at := 0
	for {
		var err error
		at, err = w.Choose(ctx, wizard.Choice{
			Title: paint.Text("Select status for "+c.Key.String()+":", paint.Bold), About: about, Rows: rows, At: at, Back: true, Enter: "select",
		})
		if err != nil {
			return "", err
		}
		question := []paint.Line{paint.Join(paint.Text("Status: ", 0), published.Status(c.Version.Status), paint.Text(arrow, 0), published.Status(offered[at]))}
		if offered[at] == api.Disabled {
			question = append(question, paint.Text("You cannot make it available again.", paint.Red))
		}
		answer, err := w.Choose(ctx, wizard.Choice{
			Title: paint.Text("Change the status of "+c.Key.String()+"?", paint.Bold), About: question,
			Rows: []paint.Line{paint.Text("Confirm", 0), paint.Text("Cancel", 0)}, Back: true, Enter: "select", Careful: true,
		})
		switch {
		case errors.Is(err, wizard.ErrBack), err == nil && answer == 1:
			continue
		default:
			return offered[at], err
		}
	}
}
