package publish

import (
	"context"
	"errors"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// anyKey is the value of --sign without one: the only key that the user has.
const anyKey = "auto"

// sign signs the proposal, if the user wants that.
func (o *Options) sign(ctx context.Context, p *proposal) (err error) {
	if o.Sign == "" {
		return nil
	}
	name := ""
	if o.Sign != anyKey {
		name = o.Host.SigningKey(o.Sign)
	}
	signer, err := o.Host.SigningKeys().Signer(ctx, name)
	if err != nil {
		return host.Usagef("%w; %s keys lists them", err, o.Host.Command)
	}
	defer func() { err = errors.Join(err, signer.Close()) }()
	if p.signature, err = signer.Sign(ctx, p.text); err != nil {
		return err
	}
	p.signer = signer.Key.Fingerprint
	return nil
}
