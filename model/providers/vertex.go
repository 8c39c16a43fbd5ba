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

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/model/gemini"
)

const (
	credentialsVariable = "GOOGLE_APPLICATION_CREDENTIALS"
	maxCredentials      = 64 << 10
)

func (o *opening) vertex() (model.Model, error) {
	project, location, err := o.place()
	if err != nil {
		return nil, err
	}
	base, err := o.vertexBase(project, location)
	if err != nil {
		return nil, err
	}
	cfg, err := o.config(base)
	if err != nil {
		return nil, err
	}
	token, err := o.token(cfg.Client.HTTP)
	if err != nil {
		return nil, err
	}
	return opened(gemini.New(gemini.Config{Config: cfg, Token: token, Safety: o.Setting.SafetySettings}))
}

// isProject accepts what becomes part of a path: letters, digits and -, with a domain
// before a colon for some.
func isProject(id string) bool {
	return len(id) <= 128 && !strings.HasPrefix(id, ".") && !strings.Contains(id, "..") && !strings.ContainsFunc(id, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == ':')
	})
}

// place is the project that pays, and where its models run. Who owns a project may record
// what goes through it, so the user is told when a file names it.
func (o *opening) place() (project, location string, err error) {
	p := o.variable("GOOGLE_VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT")
	l := o.variable("GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION")
	file := p.file
	if o.Setting.Project != "" {
		file = cmp.Or(o.Config, expert.FileName)
	}
	project, location = cmp.Or(o.Setting.Project, p.value), cmp.Or(o.Setting.Location, l.value)
	switch {
	case project == "":
		return "", "", o.missing(p.name, "or write project into [provider.setting]")
	case location == "":
		return "", "", o.missing(l.name, "or write location into [provider.setting]")
	case !isProject(project):
		return "", "", o.errorf("%s is not the id of a project; it has letters, digits and -", p.name)
	}
	if err := expert.CheckHostLabel(location); err != nil {
		return "", "", o.errorf("%s %w", l.name, err)
	}
	if file != "" {
		o.tell("the Google Cloud project "+project, file, false)
	}
	return project, location, nil
}

// vertexBase is the address of the models. An env file may not name it, not even together
// with a credentials file: what it names would be one of the user's.
func (o *opening) vertexBase(project, location string) (string, error) {
	if o.Setting.BaseURL == "" {
		if _, err := o.onlyUsers(baseURLVariables[o.Provider]); err != nil {
			return "", err
		}
	}
	base, err := o.baseURL(variable{name: credentialsVariable})
	if err != nil || base != "" {
		return base, err
	}
	host := location + "-aiplatform.googleapis.com"
	if location == "global" {
		host = "aiplatform.googleapis.com"
	}
	return "https://" + host + "/v1beta1/projects/" + url.PathEscape(project) + "/locations/" + location + "/publishers/google", nil
}

// token returns what makes tokens: from the credentials file that a variable names, else
// from the one that gcloud writes, else from the machine of Google Cloud that this may be.
func (o *opening) token(client *http.Client) (func(context.Context) (string, error), error) {
	v := o.variable(credentialsVariable)
	path := o.path(v.value)
	if !v.set() {
		path = o.gcloudFile()
	}
	if path != "" {
		data, err := expert.ReadFile(path, maxCredentials)
		switch {
		case err == nil:
			o.hideCredentials(data)
			token, err := gemini.TokenSource(data, client)
			if err != nil {
				return nil, o.errorf("%s: %w", path, err)
			}
			return token, nil
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
	return gemini.MetadataTokens(base, client), nil
}

// gcloudFile is where gcloud auth application-default login leaves credentials; "" if
// nobody knows where home is. Only the user says where that is.
func (o *opening) gcloudFile() string {
	const name = "application_default_credentials.json"
	if runtime.GOOS == "windows" {
		if dir := o.users("APPDATA"); dir != "" {
			return filepath.Join(dir, "gcloud", name)
		}
		return ""
	}
	if dir := o.users("HOME"); dir != "" {
		return filepath.Join(dir, ".config", "gcloud", name)
	}
	return ""
}

// hideCredentials tells the secrets of a credentials file. What cannot be read has none
// that would be used.
func (o *opening) hideCredentials(data []byte) {
	var secrets struct {
		PrivateKey   string `json:"private_key"`
		PrivateKeyID string `json:"private_key_id"`
		RefreshToken string `json:"refresh_token"`
		ClientSecret string `json:"client_secret"`
	}
	if o.Hide == nil || json.Unmarshal(data, &secrets) != nil {
		return
	}
	for name, value := range map[string]string{
		"private_key": secrets.PrivateKey, "private_key_id": secrets.PrivateKeyID,
		"refresh_token": secrets.RefreshToken, "client_secret": secrets.ClientSecret,
	} {
		if value != "" {
			o.Hide(name, value)
		}
	}
}
