package audit

// A Kind is a thing that the review of an Expert looks for.
type Kind struct {
	Name     string
	Severity Severity // unless the reviewer knows better
	Title    string
	Attack   string
	Fix      string
	Absent   string // what is good if no finding is of this kind
}

// The kinds of findings about Experts. A name is part of fingerprints and never changes.
const (
	UnpinnedPackage  = "unpinned-package"
	UncheckedCommand = "unchecked-command"
	WildcardDomain   = "wildcard-domain"
	SecretWayOut     = "secret-way-out"
	CustomCommand    = "custom-command"
	HiddenText       = "hidden-text"
	MissingLimits    = "missing-limits"
	SandboxOff       = "sandbox-off"
	OpenNetwork      = "open-network"
	HostNetwork      = "host-network"
	UnknownDelegate  = "unknown-delegate"
	UnknownTools     = "unknown-tools"
	PrivateEndpoint  = "private-endpoint"
	ProviderKey      = "provider-key"
	OtherProvider    = "other-provider"
	BrokenLock       = "broken-lock"
)

// Kinds lists all kinds of findings about Experts.
func Kinds() []Kind {
	return []Kind{
		{UnpinnedPackage, High, "a package is not pinned",
			"The author of the package, or a thief of the author's account, publishes a new version. The next run starts it with the variables of the skill.",
			"Install the skills of the project, which pins the package, and keep perstack.lock with the project.",
			"Every package is pinned by version and content."},
		{UncheckedCommand, Medium, "a skill starts code that is not compared with anything",
			"The command fetches or finds its code by itself, so code that changed after the review is started.",
			"Use command = \"npx\" with a package, or a script in the workspace, and install the skills, which pins it.",
			"No skill is started by a command that fetches its code by itself."},
		{WildcardDomain, Medium, "a skill can reach all hosts below a domain",
			"One of the hosts below the domain belongs to the attacker, or passes data on.",
			"Name the hosts that the skill needs.",
			"No list of hosts has a wildcard."},
		{SecretWayOut, High, "a secret, untrusted input and a way out are together",
			"Text in a page, mail or file persuades the model to have a skill send the secret, or what it unlocks, to the attacker.",
			"Give the secret to another Expert than the one that reads untrusted text, or limit the hosts in allowedDomains.",
			"No Expert has a secret, untrusted input and a way out together."},
		{CustomCommand, High, "a published Expert starts a program of its own choice",
			"The command runs whatever is at that path on your machine, with arguments that the publisher chose.",
			"Use npx or uvx with a pinned package; other commands are refused for published Experts.",
			"No published Expert starts a program other than npx and uvx."},
		{HiddenText, High, "a text for the model contains invisible characters",
			"The model obeys instructions that a person who reviews the file does not see.",
			"Remove the characters. If you did not write them, do not use the Expert.",
			"No text for the model has invisible characters."},
		{MissingLimits, Low, "a job has no limit on cost, tokens or time",
			"An Expert that was persuaded to continue for ever spends your money.",
			"Set maxCost or maxTokens, and maxDuration.",
			"Cost and time of a job are limited."},
		{SandboxOff, High, "programs run without a sandbox",
			"A command that the model was persuaded to run, or the code of a skill, reads and changes everything that you can.",
			"Use the native sandbox or the runtime docker, or leave exec out with omit.",
			"Every program runs in a sandbox or a container."},
		{OpenNetwork, Medium, "a program can reach any host",
			"A skill or a command sends what it can read to any host.",
			"Run it in a sandbox and name the hosts that it needs in allowedDomains.",
			"No program can reach any host."},
		{HostNetwork, Medium, "the proxy of the container is on a network that the file names",
			"Other containers on that network reach the proxy, or it reaches services that are meant for them only.",
			"Remove the setting network unless you made that network for perstack.",
			"No file names the network of a container."},
		{UnknownDelegate, Low, "a delegate is not in the file",
			"What this Expert can do is decided elsewhere, and was not reviewed.",
			"Review the delegate where it is defined.",
			"Every delegate is in the file and was reviewed."},
		{UnknownTools, Low, "the tools of a skill are not pinned",
			"The server offers other tools, or other descriptions, than those that you reviewed.",
			"Install the skills of the project, which pins their tools.",
			"The tools of every skill are pinned."},
		{PrivateEndpoint, Low, "a skill can be at a private address",
			"The endpoint leads to a service of your network that trusts every caller.",
			"Remove allowPrivateEndpoint unless you run the server.",
			"No skill is at a private address."},
		{ProviderKey, Medium, "a skill gets the key of a provider",
			"The server uses or sells the key.",
			"Give the skill a key of its own under another name.",
			"No skill gets the key of a provider."},
		{OtherProvider, Medium, "requests to the model go to an address of the file",
			"The server at that address reads everything that the Experts see, and the key.",
			"Remove the base URL unless you know the server.",
			"Requests go to the provider's own address."},
		{BrokenLock, Low, "the lockfile does not fit",
			"No run starts until it fits, and a user in a hurry removes it.",
			"Install the skills again, and look at what changes in the lockfile.",
			"The lockfile fits, or there is nothing to pin."},
	}
}

// NewFinding makes a finding of a kind. Where tells it apart from others of its kind: the same
// words in every report.
func NewFinding(kind, pack, location, description, affected string, where ...string) Finding {
	for _, k := range Kinds() {
		if k.Name == kind {
			return Finding{
				Kind: kind, Fingerprint: fingerprint(append([]string{kind}, where...)...),
				Severity: k.Severity, Status: Open, Title: k.Title, Package: pack, Location: location,
				Description: description, Affected: affected, Attack: k.Attack, Fix: k.Fix,
			}
		}
	}
	panic("audit: there is no kind " + kind) // a constant of this package was left out of Kinds
}
