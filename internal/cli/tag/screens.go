package tag

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/tui/paint"
	"github.com/perstack-go/perstack/internal/tui/wizard"
)

// choose lets the user choose a version and its tags on screens.
func (o *Options) choose(ctx context.Context, s *published.Session) error {
	var chosen published.Chosen
	var current, wanted []string
	left, err := s.Screens(ctx, func(ctx context.Context, w *wizard.Wizard) error {
		return s.ChooseVersion(ctx, w, "Select an Expert to tag:", "", func(c published.Chosen) (err error) {
			chosen, current = c, published.CustomTags(&c.Version)
			wanted, err = chooseTags(ctx, w, c, current, published.Arrow(o.Host))
			return err
		})
	})
	if left || err != nil {
		return err
	}
	return o.set(ctx, chosen.Registry, chosen.Key, current, wanted)
}

// chooseTags asks for all tags of a version, and for a confirmation.
func chooseTags(ctx context.Context, w *wizard.Wizard, c published.Chosen, current []string, arrow string) ([]string, error) {
	about := paint.Join(paint.Text("Current: ", paint.Quiet), paint.Text(shown(current), paint.Magenta))
	if slices.Contains(c.Version.Tags, published.Latest) {
		about = paint.Join(about, paint.Text(" [latest - auto-managed]", paint.Quiet))
	}
	text := strings.Join(current, ", ")
	for {
		entered, err := w.Edit(ctx, wizard.Input{
			Title: paint.Text("Enter tags for "+c.Key.String()+":", paint.Bold), About: []paint.Line{about}, Text: text, Check: checkInput,
		})
		if err != nil {
			return nil, err
		}
		text = entered
		wanted := split(entered)
		change := paint.Join(paint.Text(shown(current), paint.Magenta), paint.Text(arrow, 0), paint.Text(shown(wanted), paint.Magenta))
		if slices.Equal(current, slices.Compact(slices.Sorted(slices.Values(wanted)))) {
			change = paint.Join(paint.Text(shown(current), paint.Magenta), paint.Text(" (unchanged)", paint.Quiet))
		}
		answer, err := w.Choose(ctx, wizard.Choice{
			Title: paint.Text("Change the tags of "+c.Key.String()+"?", paint.Bold), About: []paint.Line{paint.Join(paint.Text("Tags: ", 0), change)},
			Rows: []paint.Line{paint.Text("Confirm", 0), paint.Text("Cancel", 0)}, Back: true, Enter: "select", Careful: true,
		})
		switch {
		case errors.Is(err, wizard.ErrBack), err == nil && answer == 1:
			continue
		default:
			return wanted, err
		}
	}
}

// split returns the tags of a line.
func split(text string) (tags []string) {
	for tag := range strings.SplitSeq(text, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

// checkInput removes latest, and says so.
func checkInput(text string) (changed, problem string) {
	tags := split(text)
	rest := slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return tag == published.Latest })
	if len(rest) < len(tags) {
		return strings.Join(rest, ", "), "'latest' tag is managed automatically and was removed"
	}
	if err := published.CheckTags(tags); err != nil {
		return text, err.Error()
	}
	return text, ""
}
