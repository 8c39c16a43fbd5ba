package manifest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// inContainer reports what the Expert cannot use with the runtime docker: what its container
// does not have, and what its proxy does not connect to.
func (u *use) inContainer() {
	for _, s := range u.expert.Skills {
		switch s.Type {
		case expert.StdioSkill:
			u.packageInContainer(s)
		case expert.SSESkill, expert.HTTPSkill:
			if message := netaddr.ProxyRefusal(s.Endpoint, s.AllowPrivateEndpoint); message != "" {
				path := toml.PathTo(u.skill(s), "endpoint")
				if s.AllowPrivateEndpoint {
					path = toml.PathTo(u.skill(s), "allowPrivateEndpoint")
				}
				u.report(path, "cannot be used with runtime docker: "+message, "use runtime local, or a server on port 443 of a public host")
			}
		case expert.InteractiveSkill: // the user answers, outside the container
		}
		for i, domain := range s.AllowedDomains {
			// What a wildcard stands for is as public as any name in its place.
			if netaddr.HostReach(strings.Replace(domain, "*", "any", 1)) != netaddr.Public {
				u.note(toml.PathTo(u.skill(s), "allowedDomains", strconv.Itoa(i)), wording.Quote(domain)+" never matches with runtime docker, where only public names can be reached")
			}
		}
	}
}

// packageInContainer refuses packages for which no image has what runs them. Whether they are
// pinned is for the lockfile to say: see internal/lockfile.
func (u *use) packageInContainer(s *expert.Skill) {
	manager := expert.PackageManager(s.Command)
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
// runs them: a container has one image.
func (u *use) oneImage() {
	if path := u.packages["uvx"]; path != "" && u.packages["npx"] != "" && u.baseImage == "" {
		u.report(path, "is a package of uvx beside packages of npx, and one container cannot stand on nodeImage and pythonImage", "name an image with both in [docker] with baseImage")
	}
}
