package providers

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/model"
)

// Which variable wins. The environment is the user's. An env file may have come with a
// repository, like perstack.toml. So:
//
//  1. The environment wins over every env file, even where a variable has several names: a
//     file must not replace the user's key with its own.
//  2. A file must not decide where the user's key goes, neither by a base URL nor by the
//     name of a resource. Only a key of the same file follows it there.
//  3. A file may decide where requests without a key of the user's go. The user is told,
//     and also where perstack.toml sends requests.
//  4. Only the user decides about proxy and authorities, which every request depends on.

// A variable is the result of a lookup, by the first of its names that has a value. Value
// is empty if none has.
type variable struct {
	name, value string
	file        string // env file that it comes from; "" for the environment
}

func (v variable) set() bool { return v.value != "" }

// variable looks up a variable that may have several names, the preferred one first.
func (o *opening) variable(names ...string) variable {
	var found variable
	if len(names) > 0 {
		found.name = names[0]
	}
	for _, name := range names {
		set := o.Variables(name)
		v := variable{name, set.Value, set.File}
		switch {
		case !v.set():
		case v.file == "":
			return v
		case !found.set():
			found = v
		}
	}
	return found
}

// value is the value of a variable that may come from anywhere.
func (o *opening) value(name string) string { return o.Variables(name).Value }

// users is a variable that only the user may set. In an env file it is ignored.
func (o *opening) users(name string) string {
	if v := o.variable(name); v.file == "" {
		return v.value
	}
	return ""
}

// onlyUsers is users with an error if an env file sets the variable.
func (o *opening) onlyUsers(name string) (string, error) {
	v := o.variable(name)
	if v.file != "" {
		return "", &detourError{o.errorf("%s is set in %s, which may have come with a repository; set it in your environment", name, v.file)}
	}
	return v.value, nil
}

// A detourError says that an env file would decide about a key or an account of the user.
type detourError struct{ err error }

func (e *detourError) Error() string { return e.err.Error() }

// Detour returns the error with which [Open] refuses an env file that would decide about a key or
// an account of the user; nil if there is none. No consent changes it. No file is read and nothing
// is sent.
func Detour(c Config) error {
	if model.CheckProvider(c.Provider) != nil || c.Provider == "replay" {
		return nil
	}
	c.Warn, c.Hide = nil, nil
	o := newOpening(c)
	o.dry = true
	_, err := o.provider.open(o)
	if detour, ok := errors.AsType[*detourError](err); ok {
		return detour
	}
	return nil
}

// refuseDetour refuses a variable of an env file that decides where a key goes, unless the
// key is in the same file.
func refuseDetour(o *opening, target variable, keys ...variable) error {
	if !target.set() || target.file == "" {
		return nil
	}
	for _, key := range keys {
		if key.set() && key.file != target.file {
			return &detourError{o.errorf("%s is set in %s, but %s is not: a file that may have come with a repository does not say where your key goes; "+
				"set both in that file, or both in your environment", target.name, target.file, key.name)}
		}
	}
	return nil
}

// baseURL is the address that perstack.toml names, otherwise that of a variable; "" if
// neither does. keys are what is sent there.
func (o *opening) baseURL(keys ...variable) (string, error) {
	if o.Setting.BaseURL != "" {
		o.tell(o.Setting.BaseURL, o.File, len(keys) > 0)
		return o.Setting.BaseURL, nil
	}
	v := o.addressVariable()
	if !v.set() {
		return "", nil
	}
	if err := refuseDetour(o, v, keys...); err != nil {
		return "", err
	}
	if err := o.checkAddress(v); err != nil {
		return "", o.errorf("%s %w", v.name, err)
	}
	if v.file != "" {
		o.tell(v.value, v.file, false)
	}
	return v.value, nil
}

// addressVariable is the variable that names the base URL, or the server if none does.
func (o *opening) addressVariable() variable {
	v := o.variable(o.facts.BaseURLEnv)
	if host := o.provider.hostEnv; !v.set() && host != "" {
		v = o.variable(host)
		v.value = hostURL(v.value)
	}
	return v
}

// hostURL is the address that a client of Ollama reads in OLLAMA_HOST. A server that listens
// everywhere is reached on this machine.
func hostURL(host string) string {
	if host == "" {
		return ""
	}
	scheme, rest, ok := strings.Cut(host, "://")
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	if !ok {
		scheme, rest, port = "http", host, "11434"
	}
	rest, path, _ := strings.Cut(rest, "/")
	name := rest
	if h, p, err := net.SplitHostPort(rest); err == nil {
		name, port = h, p
	}
	switch name = strings.Trim(name, "[]"); name {
	case "", "0.0.0.0":
		name = "127.0.0.1"
	case "::":
		name = "::1"
	}
	return strings.TrimSuffix(scheme+"://"+net.JoinHostPort(name, port)+"/"+path, "/")
}

// checkAddress checks an address in a variable. The user may name one in the private
// network; an env file may not, because it may have come with a repository. Where no key is
// sent, the user may do without encryption.
func (o *opening) checkAddress(v variable) error {
	if o.facts.KeyOptional && v.file == "" {
		return netaddr.CheckPlainURL(v.value)
	}
	err := netaddr.CheckBaseURL(v.value, v.file == "" || o.Setting.AllowPrivateEndpoint)
	if err != nil && o.facts.KeyOptional && netaddr.CheckPlainURL(v.value) == nil {
		return fmt.Errorf("%w; it is set in %s, which may have come with a repository; in your environment it would count", err, v.file)
	}
	return err
}

// missing is the error about all variables that have to be set. hint is an alternative; it
// may be empty.
func (o *opening) missing(hint string, names ...string) error {
	if hint != "" {
		hint = ", " + hint
	}
	is, it := "is", "it"
	if len(names) > 1 {
		is, it = "are", "them"
	}
	return o.errorf("%s %s not set; set %s in the environment or in .env%s", wording.And(names), is, it, hint)
}
