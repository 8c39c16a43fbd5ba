package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// A Policy is what an organization decides about all that it publishes. A nil field stays as it is.
type Policy struct {
	Visibility *string   // of new Experts
	Signers    *[]string // fingerprints of the SSH keys of which one must have signed each version; none asks for none
}

// maxSigners is how many keys an organization can name.
const maxSigners = 32

// SetPolicy changes the policy of an organization; "" is that of the actor. Which keys sign is told to the log.
func (r *Registry) SetPolicy(ctx context.Context, by Actor, org string, p Policy) error {
	if p.Visibility == nil && p.Signers == nil {
		return invalid(errors.New("there is nothing to change; give a visibility or signers"))
	}
	if p.Visibility != nil && *p.Visibility != api.Public && *p.Visibility != api.Private {
		return invalid(fmt.Errorf("%q is not a visibility; use public or private", *p.Visibility))
	}
	if p.Signers != nil {
		if len(*p.Signers) > maxSigners {
			return invalid(fmt.Errorf("an organization can name %d keys", maxSigners))
		}
		for _, f := range *p.Signers {
			if !isFingerprint(f) {
				return invalid(fmt.Errorf("%q is not the fingerprint of an SSH key; ssh-keygen -l shows it as SHA256:…", f))
			}
		}
	}
	return r.update(ctx, func(t *change) error {
		o, err := t.managed(by, org)
		if err != nil {
			return err
		}
		if p.Visibility != nil {
			if err := t.exec("UPDATE organizations SET visibility = $1 WHERE id = $2", *p.Visibility, o.ID); err != nil {
				return err
			}
			if err := t.audit(by, "default visibility", o.Name, *p.Visibility, -1); err != nil {
				return err
			}
		}
		if p.Signers == nil {
			return nil
		}
		var old string
		if _, err := t.one("SELECT signers FROM organizations WHERE id = $1", []any{o.ID}, &old); err != nil {
			return err
		}
		leaf := tlog.Leaf{Kind: tlog.PolicyChanged, Org: o.ID, Old: strings.Join(unlines(old), ","), New: strings.Join(*p.Signers, ","), Actor: by.logName()}
		number, err := t.record(api.Public, leaf)
		if err != nil {
			return err
		}
		if err := t.exec("UPDATE organizations SET signers = $1 WHERE id = $2", lines(*p.Signers), o.ID); err != nil {
			return err
		}
		return t.audit(by, "signing policy", o.Name, leaf.New, number)
	})
}

// isFingerprint reports whether a text is the fingerprint of an SSH key.
func isFingerprint(text string) bool {
	sum, ok := strings.CutPrefix(text, "SHA256:")
	const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	const length = 43 // of 32 bytes without padding
	return ok && len(sum) == length && strings.Trim(sum, base64) == ""
}

// managed returns an organization that the actor manages; "" is its own.
func (l *look) managed(by Actor, org string) (o api.Organization, err error) {
	o = api.Organization{ID: by.OrgID, Name: by.OrgName, Type: by.OrgType}
	if org != "" && org != by.OrgName {
		if o, err = l.organization(org); err != nil {
			if !by.IsAdmin() {
				return o, unauthenticated() // other users do not learn which organizations exist
			}
			return o, err
		}
	}
	return o, by.manages(o.ID)
}

// checkSigner holds a publication to the policy of its organization.
func (t *change) checkSigner(p *publication) error {
	var signers string
	if _, err := t.one("SELECT signers FROM organizations WHERE id = $1", []any{p.by.OrgID}, &signers); err != nil {
		return err
	}
	switch {
	case signers == "" || slices.Contains(unlines(signers), p.signer):
		return nil
	case p.signer == "":
		return badRequest("The organization publishes signed versions only")
	}
	return badRequest("The key %s is not among those that sign for the organization", p.signer)
}
