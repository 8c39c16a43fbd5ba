package providers

import (
	"cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/model/chat"
)

func (o *opening) azure() (model.Model, error) {
	if o.Model == "" {
		return nil, o.errorf("no deployment is named, and only you know those of your resource; give its name with --model, or as model in perstack.toml")
	}
	key := o.variable("AZURE_API_KEY", "AZURE_OPENAI_API_KEY")
	if !key.set() {
		return nil, o.missing(key.name, "")
	}
	base, err := o.baseURL(key)
	if err == nil && base == "" {
		base, err = o.resource(key)
	}
	if err != nil {
		return nil, err
	}
	cfg, err := o.config(base)
	if err != nil {
		return nil, err
	}
	return opened(chat.New(chat.Config{
		Config:      cfg,
		Dialect:     chat.Azure,
		Key:         key.value,
		APIVersion:  cmp.Or(o.Setting.APIVersion, o.Env("AZURE_API_VERSION")),
		Deployments: o.Setting.UseDeploymentBasedURLs,
	}))
}

// resource is the address of a resource. Its name is part of the host's, so a stranger's
// name sends the key to a stranger's resource.
func (o *opening) resource(key variable) (string, error) {
	name := o.variable("AZURE_RESOURCE_NAME")
	file := name.file
	switch {
	case o.Setting.ResourceName != "":
		name.value, file = o.Setting.ResourceName, cmp.Or(o.Config, expert.FileName)
	case !name.set():
		return "", o.missing("AZURE_RESOURCE_NAME or baseUrl", "or write resourceName or baseUrl into [provider.setting]")
	default:
		if err := refuseDetour(o, name, key); err != nil {
			return "", err
		}
		if err := expert.CheckHostLabel(name.value); err != nil {
			return "", o.errorf("%s %w", name.name, err)
		}
	}
	base := "https://" + name.value + ".openai.azure.com/openai"
	if file != "" {
		o.tell(base, file, o.Setting.ResourceName != "") // a file's own key follows it there
	}
	return base, nil
}
