package providers

import (
	"cmp"
	"strings"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/providers/chat"
	"github.com/perstack-go/perstack/model"
)

func (o *opening) azure() (model.Model, error) {
	if o.Model == "" {
		return nil, &ChoiceError{[]string{"model"}, o.errorf("no deployment is named, and only you know those of your resource; set model in perstack.toml")}
	}
	key := o.variable(o.facts.KeyEnv...)
	if !key.set() {
		lacks := []string{key.name}
		if o.Setting.BaseURL == "" && o.Setting.ResourceName == "" && o.value(o.facts.BaseURLEnv) == "" && o.value(resourceVariable) == "" {
			lacks = append(lacks, resourceOrBase)
		}
		return nil, o.missing("", lacks...)
	}
	cfg, err := o.config(o.azureBase(key))
	if err != nil {
		return nil, err
	}
	cfg.KeyVariable = key.name
	version := cmp.Or(o.Setting.APIVersion, o.value("AZURE_API_VERSION"))
	if o.Setting.UseDeploymentBasedURLs && !strings.HasPrefix(version, "20") {
		o.warn("useDeploymentBasedUrls goes with an API version that is a date, like 2025-04-01-preview; set apiVersion in [provider.setting], or leave both out")
	}
	return opened(chat.New(chat.Config{
		Config:      cfg,
		Dialect:     chat.Azure,
		Key:         key.value,
		APIVersion:  version,
		Deployments: o.Setting.UseDeploymentBasedURLs,
	}))
}

const (
	resourceVariable = "AZURE_RESOURCE_NAME"
	resourceOrBase   = resourceVariable + " or baseUrl"
)

// resourceURL is the address of a resource.
func resourceURL(name string) string { return "https://" + name + ".openai.azure.com/openai" }

// azureBase is the base URL that the user names, else that of a resource. The name of a
// resource is part of the host name, so a name in an untrusted file would send the key to the
// resource of its author.
func (o *opening) azureBase(key variable) (string, error) {
	if base, err := o.baseURL(key); err != nil || base != "" {
		return base, err
	}
	name := o.variable(resourceVariable)
	file := name.file
	switch {
	case o.Setting.ResourceName != "":
		name.value, file = o.Setting.ResourceName, cmp.Or(o.File, manifest.FileName)
	case !name.set():
		return "", o.missing("or write resourceName or baseUrl into [provider.setting]", resourceOrBase)
	default:
		if err := refuseDetour(o, name, key); err != nil {
			return "", err
		}
		if err := netaddr.CheckHostLabel(name.value); err != nil {
			return "", o.errorf("%s %w", name.name, err)
		}
	}
	base := resourceURL(name.value)
	if file != "" {
		o.tell(base, file, o.Setting.ResourceName != "") // a file's own key follows it there
	}
	return base, nil
}
