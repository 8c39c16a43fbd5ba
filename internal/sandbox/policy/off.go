package policy

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/perstack-go/perstack/expert"
)

// An Exemption names programs that run without a sandbox, by their row in [Exemptions].
type Exemption string

// The exemptions. Each is used by the code that starts these programs, and by no other.
const (
	JobOff         Exemption = "job"
	InContainer    Exemption = "container"
	PackageManager Exemption = "packageManager"
	VersionQuery   Exemption = "version"
	Squid          Exemption = "squid"
	AuditControl   Exemption = "audit"
	Supervisor     Exemption = "supervisor"

	CredentialHelper Exemption = "credentialHelper"
)

// An ExemptionRow says which programs an exemption is for, and why. Both are Markdown.
type ExemptionRow struct {
	Exemption     Exemption
	Programs, Why string
}

// Exemptions lists all programs that run without a sandbox. docs/sandbox.md shows the table.
func Exemptions() []ExemptionRow {
	return []ExemptionRow{
		{
			JobOff, "commands, and skills that are programs",
			"only at level `off`. You choose it, or agree to it where the machine offers no sandbox",
		},
		{
			InContainer, "commands and skills in a container with [one shared sandbox](docker.md#one-shared-sandbox)",
			"you choose it. The container isolates them from your machine, but not from each other",
		},
		{
			PackageManager, "`npm` and `uv`, when they fetch packages",
			"only where the kernel has no Landlock. Elsewhere the kernel blocks all ports except that of perstack's proxy. In both cases they can use all your files, such as `.npmrc` and their caches, and they run no code of a package",
		},
		{
			VersionQuery, "`docker`, `node`, `npm`, `npx`, `uv` and `uvx`, when doctor or audit asks for their versions",
			"only where the kernel has no Landlock. Elsewhere they can read files, but neither write nor connect",
		},
		{
			Squid, "`squid`, if you choose it as the proxy",
			"it connects to other hosts for programs in sandboxes. Perstack writes its configuration",
		},
		{
			CredentialHelper, "`docker-credential-NAME`, if you choose to keep a login there",
			"it uses your keychain, and gets the key and the address of one server. It is never taken from the project or the workspace",
		},
		{
			AuditControl, "perstack itself, as the hostile program of an audit",
			"an attack that a sandbox stops must work without one, and some promises hold without one",
		},
		{
			Supervisor, "perstack itself, as the process that starts and ends programs",
			"it runs no code of others, and has neither your environment nor your terminal",
		},
	}
}

// Off returns a policy without restrictions, for programs that the table of exemptions names. There
// is no other policy of level off: [Policy.Validate] refuses it.
func Off(e Exemption) *Policy { return &Policy{Level: expert.SandboxOff, Exempt: e} }

// Restricts reports whether the policy keeps a program from anything. A missing policy does not,
// but no program starts without one.
func (p *Policy) Restricts() bool { return p != nil && p.Level.Restricts() }

// validateOff refuses a policy of level off that is not in the table, or that seems to restrict a
// program.
func (p *Policy) validateOff() error {
	if !slices.ContainsFunc(Exemptions(), func(r ExemptionRow) bool { return r.Exemption == p.Exempt }) {
		return fmt.Errorf("a sandbox policy cannot have the level off: %q is not in the table of programs that run without a sandbox", p.Exempt)
	}
	if !reflect.DeepEqual(p, Off(p.Exempt)) {
		return fmt.Errorf("a sandbox policy cannot restrict a program with the level off")
	}
	return nil
}
