package host

import "context"

// Agree asks the user before something is removed for good, unless yes says that the user agrees
// already. Without a user to ask, it is a usage error: what says what the command would do.
func (h *Host) Agree(ctx context.Context, yes bool, what, question string) error {
	switch {
	case yes:
		return nil
	case !h.CanConfirm():
		return Usagef("%s; add --yes if that is meant", what)
	}
	agreed, err := h.Confirm(ctx, "%s", question)
	if err == nil && !agreed {
		err = Usagef("nothing was removed")
	}
	return err
}
