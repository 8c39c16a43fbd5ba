package providers

import (
	"cmp"
	"strings"

	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/providers/bedrock"
	"github.com/perstack-go/perstack/model"
)

func (o *opening) bedrock() (model.Model, error) {
	id, secret := o.variable("AWS_ACCESS_KEY_ID"), o.variable("AWS_SECRET_ACCESS_KEY")
	session, bearer := o.variable("AWS_SESSION_TOKEN"), o.variable("AWS_BEARER_TOKEN_BEDROCK")
	if bearer.file != "" && id.set() && id.file == "" {
		bearer = variable{} // a file's token must not replace the user's key: requests would go to another account
	}
	if (session.file == "") != (id.file == "") {
		session = variable{} // it belongs to another key
	}
	keys := []variable{bearer}
	if !bearer.set() {
		keys = []variable{id, secret, session}
	}
	if err := o.bedrockLacks(keys); err != nil {
		return nil, err
	}
	region, err := o.region()
	if err != nil {
		return nil, err
	}
	cfg, err := o.config(o.baseURL(keys...))
	if err != nil {
		return nil, err
	}
	cfg.KeyVariable = keys[0].name
	return opened(bedrock.New(bedrock.Config{
		Config:          cfg,
		AccessKeyID:     id.value,
		SecretAccessKey: secret.value,
		SessionToken:    session.value,
		BearerToken:     bearer.value,
		Region:          region,
		Guardrail:       o.Setting.Guardrail,
	}))
}

// bedrockLacks reports everything that has to be set.
func (o *opening) bedrockLacks(keys []variable) error {
	var lacks, hints []string
	for _, key := range keys[:min(2, len(keys))] {
		if !key.set() {
			lacks = append(lacks, key.name)
		}
	}
	if len(lacks) > 0 {
		hints = append(hints, "or set AWS_BEARER_TOKEN_BEDROCK instead of a key")
	}
	if v := o.variable(regionVariables...); o.Setting.Region == "" && !v.set() {
		lacks = append(lacks, v.name)
		hints = append(hints, "or write region into [provider.setting]")
	}
	if len(lacks) == 0 {
		return nil
	}
	return o.missing(strings.Join(hints, ", "), lacks...)
}

var regionVariables = []string{"AWS_REGION", "AWS_DEFAULT_REGION"}

// region is where Bedrock runs. A file may decide it, because the account is the same
// everywhere. It becomes part of a host name, so it is checked.
func (o *opening) region() (string, error) {
	v := o.variable(regionVariables...)
	region := cmp.Or(o.Setting.Region, v.value)
	if err := netaddr.CheckHostLabel(region); err != nil {
		return "", o.errorf("%s %w", v.name, err)
	}
	return region, nil
}
