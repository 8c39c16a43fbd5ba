package expert

import (
	"slices"
	"strconv"
	"strings"
)

// DockerRuntime is the runtime with a wall around it.
const DockerRuntime = "docker"

// This file says what cannot be used with the runtime docker: what its container does not
// have, and what its wall has no door for. All of it is known before the engine is asked,
// so nothing is started in vain.

// walled reports what the Expert cannot use behind the wall.
func (u *use) walled() {
	for _, s := range u.expert.Skills {
		switch s.Type {
		case StdioSkill:
			u.walledPackage(s)
		case SSESkill, HTTPSkill:
			if message := NoDoor(s.Endpoint, s.AllowPrivateEndpoint); message != "" {
				path := pathTo(u.skill(s), "endpoint")
				if s.AllowPrivateEndpoint {
					path = pathTo(u.skill(s), "allowPrivateEndpoint")
				}
				u.report(path, "cannot be used with runtime docker: "+message, "use runtime local, or a server on port 443 of a public host")
			}
		case InteractiveSkill: // the user answers, on this side of the wall
		}
		for i, domain := range s.AllowedDomains {
			// What a wildcard stands for is as public as any name in its place.
			if HostReach(strings.Replace(domain, "*", "any", 1)) != Public {
				u.note(pathTo(pathTo(u.skill(s), "allowedDomains"), strconv.Itoa(i)), quote(domain)+" never matches with runtime docker, whose wall has doors to public names only")
			}
		}
	}
}

// walledPackage refuses packages for which no image has what runs them. Whether they are
// pinned is for the lockfile to say: see [Config.LockNeeded].
func (u *use) walledPackage(s *Skill) {
	manager := packageManager(s.Command)
	if manager == "" || s.BuiltIn {
		return
	}
	path := u.skill(s)
	if s.IsBase() && slices.Equal(append([]string{s.Command}, s.Args...), u.config.BaseSkillCommand) {
		path = "perstackBaseSkillCommand"
		if u.told[path] {
			return // it is the same for all Experts
		}
		u.told[path] = true
	}
	if u.packages[manager] == "" {
		u.packages[manager] = path
	}
	if manager == "uvx" && u.baseImage == "" && u.config.Docker.PythonImage == "" {
		u.report(path, "is a package of uvx, and no image has Python for it", "name one in [docker] with pythonImage, or baseImage")
	}
}

// oneImage refuses packages of both managers where no image is said to have both of what
// runs them: a container stands on one.
func (u *use) oneImage() {
	if path := u.packages["uvx"]; path != "" && u.packages["npx"] != "" && u.baseImage == "" {
		u.report(path, "is a package of uvx beside packages of npx, and one container cannot stand on nodeImage and pythonImage", "name an image with both in [docker] with baseImage")
	}
}

// LockNeeded says which of the Experts need a lockfile to run with the runtime docker: their
// packages are put into an image before the run, and what is not pinned could be anything.
func (c *Config) LockNeeded(experts []*Expert) (found Problems) {
	for _, e := range experts {
		for _, s := range e.Servers() {
			if p, ok := s.Package(); ok {
				path := pathTo(pathTo(pathTo("experts", e.Name), "skills"), s.Name)
				found = append(found, c.Problem(path, "the package "+quote(p.Spec())+" is not pinned, and runtime docker puts only pinned ones into an image", mendLock))
			}
		}
	}
	return found
}

// NoDoor says why the wall of the runtime docker has no door for an address: "" if it has
// one. Through the wall lead TLS connections to port 443 of public hosts, and no others.
func NoDoor(address string, allowPrivate bool) string {
	u, host, message, _ := splitURL(address)
	switch {
	case message != "":
		return "it " + message
	case host == Loopback:
		return "in a container, this machine is the container itself"
	case host == Private:
		return "its wall has no door to private addresses"
	case u.Scheme != "https":
		return "its wall has no door for plain http"
	case u.Port() != "" && u.Port() != "443":
		return "its wall has no door but port 443"
	case allowPrivate:
		return "its wall has no door to private addresses, which allowPrivateEndpoint permits"
	case isAddress(u.Hostname()):
		return "its wall has no door to addresses, only to names"
	}
	// The proxy takes no other names than the file does, whose rule is the same; one that
	// it does not take would keep it from starting.
	if message, _ := domainPattern(strings.TrimSuffix(u.Hostname(), ".")); message != "" {
		return "its wall has doors only to names of letters, digits and hyphens, none of which begins with xn--"
	}
	return ""
}

// isAddress reports whether a host is an address, in whatever notation.
func isAddress(host string) bool {
	if strings.Contains(host, ":") {
		return true
	}
	labels := strings.Split(strings.ToLower(strings.TrimRight(host, ".")), ".")
	_, is := legacyIPv4(labels)
	return is
}
