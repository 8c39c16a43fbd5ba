package providers

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/model"
)

const (
	credentialsVariable = "GOOGLE_APPLICATION_CREDENTIALS"
	maxCredentials      = 64 << 10
	gcloudName          = "application_default_credentials.json"
)

func (o *opening) vertex() (model.Model, error) {
	project, location, err := o.projectAndLocation()
	if err != nil {
		return nil, err
	}
	cfg, err := o.config(o.vertexBase(project, location))
	if err != nil {
		return nil, err
	}
	token, err := o.token(cfg.Client.HTTP)
	if err != nil {
		return nil, err
	}
	if v := o.variable(credentialsVariable); v.set() {
		cfg.KeyVariable = v.name
	}
	return opened(gemini.New(gemini.Config{Config: cfg, Token: token, Safety: o.Setting.SafetySettings}))
}

var projectVariables = []string{"GOOGLE_VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT"}

// isProject accepts what becomes part of a path: letters, digits and -, with a domain
// before a colon for some.
func isProject(id string) bool {
	return len(id) <= 128 && !strings.HasPrefix(id, ".") && !strings.Contains(id, "..") && !strings.ContainsFunc(id, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == ':')
	})
}

// projectAndLocation are the project that pays, and where its models run. The owner of a
// project can record requests, so the user is told if a file names it.
func (o *opening) projectAndLocation() (project, location string, err error) {
	p := o.variable(projectVariables...)
	l := o.variable("GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION")
	file := p.file
	if o.Setting.Project != "" {
		file = cmp.Or(o.File, manifest.FileName)
	}
	project, location = cmp.Or(o.Setting.Project, p.value), cmp.Or(o.Setting.Location, l.value)
	var lacks, keys []string
	if project == "" {
		lacks, keys = append(lacks, p.name), append(keys, "project")
	}
	if location == "" {
		lacks, keys = append(lacks, l.name), append(keys, "location")
	}
	switch {
	case len(lacks) > 0:
		return "", "", o.missing("or write "+strings.Join(keys, " and ")+" into [provider.setting]", lacks...)
	case !isProject(project):
		return "", "", o.errorf("%s is not the id of a project; it has letters, digits and -", p.name)
	}
	if err := netaddr.CheckHostLabel(location); err != nil {
		return "", "", o.errorf("%s %w", l.name, err)
	}
	if file != "" {
		o.tell("the Google Cloud project "+project, file, false)
	}
	return project, location, nil
}

// vertexBase is the address of the models. An env file must not name it, not even together
// with a credentials file, which could be one of the user's.
func (o *opening) vertexBase(project, location string) (string, error) {
	if o.Setting.BaseURL == "" {
		if _, err := o.onlyUsers(o.facts.BaseURLEnv); err != nil {
			return "", err
		}
	}
	base, err := o.baseURL(variable{name: credentialsVariable})
	if err != nil || base != "" {
		return base, err
	}
	return "https://" + vertexHost(location) + "/v1beta1/projects/" + url.PathEscape(project) + "/locations/" + location + "/publishers/google", nil
}

// vertexHost is the host of a location: one region, several, or all.
func vertexHost(location string) string {
	switch location {
	case "global":
		return "aiplatform.googleapis.com"
	case "us", "eu":
		return "aiplatform." + location + ".rep.googleapis.com"
	}
	return location + "-aiplatform.googleapis.com"
}

// token returns a source of tokens: the credentials file that a variable names, otherwise the
// one that gcloud writes, otherwise the metadata server of a machine of Google Cloud.
func (o *opening) token(client *http.Client) (func(context.Context) (string, error), error) {
	if o.dry {
		return func(context.Context) (string, error) {
			return "", errors.New("this model was opened to be checked only")
		}, nil
	}
	v := o.variable(credentialsVariable)
	if o.Setting.BaseURL != "" && !isGoogles(o.Setting.BaseURL) && (!v.set() || v.file != "") {
		return nil, o.errorf("baseUrl of %s sends a token of your Google account to another host, so you have to say which: set %s in your environment",
			cmp.Or(o.File, manifest.FileName), credentialsVariable)
	}
	path := o.path(v.value)
	if !v.set() {
		path = o.gcloudFile()
	}
	if path != "" {
		data, err := o.readFile(path, maxCredentials)
		switch {
		case err == nil:
			c, err := gemini.ReadCredentials(data)
			if err != nil {
				return nil, o.errorf("%s: %w", path, err)
			}
			o.hideCredentials(c)
			// Credentials that an env file names may have come with a repository, and could
			// reach the user's network, or send files of the user away.
			if v.file != "" && (c.IsFederated() || !isGoogles(c.TokenURL)) {
				return nil, o.errorf("%s, which %s names: its token_uri is not one of Google's, or it names files and addresses; name such credentials in your environment", path, v.file)
			}
			for _, address := range c.Addresses() {
				o.reaches(address)
			}
			c.ReadFile = func(name string, limit int64) ([]byte, error) { return o.readFile(o.path(name), limit) }
			c.Getenv = o.users
			for _, name := range c.Files() {
				if _, err := c.ReadFile(name, maxCredentials); err != nil { // a container gets what was read
					return nil, o.errorf("%s names %s, which cannot be read: %w", path, name, err)
				}
			}
			return c.Tokens(client), nil
		case v.set():
			return nil, o.errorf("%s names %s, which cannot be read: %w", v.name, v.value, err)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, o.errorf("the credentials %s cannot be read: %w; set %s to others", path, err, v.name)
		}
	}
	base := ""
	if host := o.users("GCE_METADATA_HOST"); host != "" {
		base = "http://" + host
	}
	o.reaches(cmp.Or(base, gemini.MetadataServer))
	return gemini.MetadataTokens(base, client), nil
}

func isGoogles(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && strings.HasSuffix(strings.ToLower(u.Hostname()), ".googleapis.com")
}

// gcloudFile is where gcloud auth application-default login leaves credentials; "" if
// the home directory is not known. Only the user decides where that is.
func (o *opening) gcloudFile() string {
	if o.gcloud != "" {
		return o.gcloud
	}
	home, config := "HOME", ".config"
	if runtime.GOOS == "windows" {
		home, config = "APPDATA", ""
	}
	if dir := o.users(home); dir != "" {
		return filepath.Join(dir, config, "gcloud", gcloudName)
	}
	return ""
}

// hideCredentials tells the secrets of a credentials file.
func (o *opening) hideCredentials(c *gemini.Credentials) {
	if o.Hide == nil {
		return
	}
	for name, value := range c.Secrets() {
		o.Hide(name, value)
	}
}
