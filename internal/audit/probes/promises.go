package probes

import "github.com/perstack-go/perstack/internal/audit"

// The reasons for promises that no user's machine can check, or not yet.
const (
	needsRegistry = "base images and packages come from registries, and an audit contacts nothing outside of this machine"
	noRegistry    = "a registry is on another machine, and an audit contacts nothing outside of this one"
	noAgents      = "running other agents is not part of this version"
)

// Promises returns all promises, with probes that attack m. A row is the promise, its severity if it
// is broken, the tests that prove it, and its probe, or why it has none.
func Promises(m *Machine) []audit.Promise {
	const critical, high, medium = audit.Critical, audit.High, audit.Medium
	return []audit.Promise{
		{ID: "N1", Area: "Network", Severity: critical, Test: "internal/sandbox.TestInsideReachesNoListener, test/docker.TestEgressMatrix", Probe: m.noRoute,
			Text: "All traffic of a sandbox goes through the egress proxy. It has no other route."},
		{ID: "N2", Area: "Network", Severity: high, Test: "internal/egress.TestProxyRefusesRequests", Probe: m.httpsOnly,
			Text: "The proxy connects to port 443 only, and refuses plain HTTP."},
		{ID: "N3", Area: "Network", Severity: critical, Test: "internal/skills.TestListeners, test/docker.TestEgressMatrix", Probe: m.ownHosts,
			Text: "Each skill reaches only the hosts of its own allowedDomains. An empty list allows nothing."},
		{ID: "N4", Area: "Network", Severity: critical, Test: "internal/egress.TestDecidedIsDialled", Probe: m.spellings,
			Text: "Wildcards match subdomains only. Hosts are normalised or refused before the decision, in any notation."},
		{ID: "N5", Area: "Network", Severity: medium, Test: "internal/netaddr.TestDomainPattern", Probe: m.homographs,
			Text: "Punycode and names that are not ASCII are refused in allowedDomains."},
		{ID: "N6", Area: "Network", Severity: critical, Test: "internal/egress.TestProxyRebinding", Probe: m.rebinding,
			Text: "The proxy refuses private and reserved addresses, and dials the address that it has checked."},
		{ID: "N7", Area: "Network", Severity: high, Test: "internal/sandbox.TestInsideNetwork, internal/runtimes/docker.TestNoWayOut", Probe: m.noLookup,
			Text: "No outside name is looked up inside a sandbox, and no query leaves it."},
		{ID: "N8", Area: "Network", Severity: high, Test: "internal/egress.TestProxyServerName", Probe: m.serverNames,
			Text: "The name in the TLS hello must be the host that was allowed. A hello without a name is refused."},
		{ID: "N9", Area: "Network", Severity: medium, Test: "internal/egress.TestProxyReportFails", Probe: m.decisionsAreTold,
			Text: "Every decision of the proxy is recorded. What cannot be recorded is not carried."},
		{ID: "N10", Area: "Network", Severity: medium, Test: "test/docker.TestEgressMatrix", WhyNot: "it follows from N3, which has a probe: a name server on the web is a host like any other",
			Text: "Name servers that are reached over HTTPS or TLS are hosts that must be allowed."},

		{ID: "K1", Area: "Container", Severity: critical, Test: "internal/runtimes/docker.TestIsolationFromInside", Probe: m.privileges,
			Text: "A container has no capabilities, no new privileges and the default seccomp profile."},
		{ID: "K2", Area: "Container", Severity: high, Test: "internal/runtimes/docker.TestWhatCanBeWritten, internal/runtimes/docker.TestIsolationFromInside", Probe: m.readOnlyRoot,
			Text: "Its user is not root, and its root file system is read-only."},
		{ID: "K3", Area: "Container", Severity: medium, Test: "internal/runtimes/docker.TestLimitsHold, internal/runtimes/docker.TestOutOfMemory", Probe: m.boxLimits,
			Text: "Memory, processors and processes of a container are limited."},
		{ID: "K4", Area: "Container", Severity: critical, Test: "internal/runtimes/docker.TestContainerSettings, internal/runtimes/docker.TestMasksHold", Probe: m.hostIsHidden,
			Text: "Of the host, only the workspace and data directories of skills are mounted. Env files in the workspace are hidden."},
		{ID: "K5", Area: "Container", Severity: high, Test: "internal/runtimes/docker.TestPinAndPullByDigest, internal/packages.TestScriptsNeverRun", WhyNot: needsRegistry,
			Text: "Images are built from pinned bases, and packages are installed without scripts."},
		{ID: "K6", Area: "Container", Severity: medium, Test: "internal/runtimes/docker.TestLimitsHold, test/docker.TestFullDisk, internal/runtimes/local.TestMaxWorkspaceBytes", Probe: m.boxSizes,
			Text: "Temporary file systems have a size, what programs add to the disk is limited, and the workspace has a quota where one is set."},
		{ID: "K7", Area: "Container", Severity: high, Test: "internal/runtimes/docker.TestNoSecretInInspect, test/docker.TestSecretsCanary", Probe: m.boxSecrets,
			Text: "Secrets are in no image, label or build argument."},
		{ID: "K8", Area: "Container", Severity: medium, Test: "internal/runtimes/docker.TestKilledRunIsSwept, test/docker.TestCleanUp", Probe: m.nothingLeft,
			Text: "Containers and networks are removed when a run ends, and those of a killed run by the next."},

		{ID: "E1", Area: "Environment", Severity: critical, Test: "internal/sandbox.TestRunEnvironment", Probe: m.secretVariables,
			Text: "A program gets the safe variables and those that it was given. Nothing else."},
		{ID: "E2", Area: "Environment", Severity: high, Test: "internal/env.TestProtectedEnv", Probe: m.steeringVariables,
			Text: "Neither a call nor a skill can set variables that change how programs are found or loaded."},
		{ID: "E3", Area: "Environment", Severity: high, Test: "internal/sandbox.TestEnvironmentSafe", Probe: m.nodePath,
			Text: "NODE_PATH is not passed on."},
		{ID: "E4", Area: "Environment", Severity: critical, Test: "internal/sandbox.TestSecretsUnreadable", Probe: m.ownMemory,
			Text: "A program cannot read the environment or the memory of perstack."},
		{ID: "E5", Area: "Environment", Severity: high, Test: "internal/manifest.TestRefusedEnv", Probe: m.requiredVariables,
			Text: "Missing variables are named before a start. Keys of the provider in use and of the registry are given to no skill, and others need consent."},
		{ID: "E6", Area: "Environment", Severity: high, Test: "internal/skills/base.TestAttacksOnPaths, test.TestHostileEnvFileIsNotExported", Probe: m.envFiles,
			Text: "Env files are exported to no program, and no file tool reads them."},

		{ID: "X1", Area: "Commands", Severity: critical, Test: "internal/sandbox.TestRunArgumentsAreLiteral", Probe: m.noShell,
			Text: "A command is a program and its arguments. No shell sees them, nothing is expanded."},
		{ID: "X2", Area: "Commands", Severity: high, Test: "internal/sandbox.TestRunOpenDir", Probe: m.startState,
			Text: "A command starts in the workspace and has nothing to read."},
		{ID: "X3", Area: "Commands", Severity: high, Test: "internal/sandbox.TestRunTimeout", Probe: m.ends,
			Text: "A timeout ends a command with all that it started. Output is bounded, and the end is told as it was."},

		{ID: "F1", Area: "Files", Severity: critical, Test: "internal/workspace.TestPathsThatAreRefused", Probe: m.outOfWorkspace,
			Text: "No path of a tool leads out of the workspace, or makes the tool hang."},
		{ID: "F2", Area: "Files", Severity: critical, Test: "internal/workspace.TestPerstackDirectory", Probe: m.ownDirectory,
			Text: "Perstack's own directory is out of reach of the tools in any spelling."},
		{ID: "F3", Area: "Files", Severity: medium, Test: "internal/workspace.TestWriteFile", Probe: m.replaced,
			Text: "Files are replaced at once. A failed write leaves the old content."},

		{ID: "S1", Area: "Skills", Severity: high, Test: "skill.TestOmittedIsNeverCalled", Probe: m.leftOut,
			Text: "A tool that pick and omit leave out is not listed and cannot be called."},
		{ID: "S2", Area: "Skills", Severity: high, Test: "internal/netaddr.TestEndpointURL", Probe: m.endpoints,
			Text: "Remote skills are reached over HTTPS only. Private addresses are refused in every notation."},
		{ID: "S3", Area: "Skills", Severity: high, Test: "internal/manifest.TestPackageRefused", Probe: m.packageNames,
			Text: "Names and versions of packages follow a strict grammar."},
		{ID: "S4", Area: "Skills", Severity: high, Test: "internal/skills/mcp.TestNothingSurvives", Probe: m.servers,
			Text: "No process of a server outlives it."},
		{ID: "S5", Area: "Skills", Severity: high, Test: "internal/skills/mcp.TestRugPull", Probe: m.rugPull,
			Text: "A server whose tools are not the pinned ones ends the run before one is called."},
		{ID: "S6", Area: "Skills", Severity: medium, Test: "internal/skills/mcp.TestEvil", Probe: m.answers,
			Text: "Answers of servers have limits of size, depth and time."},

		{ID: "R1", Area: "State", Severity: high, Test: "engine.TestContextsAreNotShared", Probe: m.contexts,
			Text: "Contexts are never shared between Experts."},
		{ID: "R2", Area: "State", Severity: medium, Test: "engine.TestStepLimitOfAJob", Probe: m.limits,
			Text: "Limits hold for an Expert and all its delegates together."},
		{ID: "R3", Area: "State", Severity: high, Test: "store/file.TestModes, engine.TestRedaction", Probe: m.privateState,
			Text: "The history is private, ids are checked before they become paths, and known secrets are removed from texts."},
		{ID: "R4", Area: "State", Severity: high, Test: "store/file.TestFlippedByte", Probe: m.damage,
			Text: "Damage to a journal is found."},

		{ID: "G1", Area: "Registry", Severity: high, WhyNot: noRegistry, Test: "internal/registry/client.TestLies, test.TestScripts/published_lies", Text: "Published versions never change."},
		{ID: "G2", Area: "Registry", Severity: high, WhyNot: noRegistry, Test: "internal/registry/client.TestLies", Text: "Published Experts start skills with npx or uvx only."},
		{ID: "G3", Area: "Registry", Severity: high, WhyNot: noRegistry, Test: "test.TestScripts/published_hostile", Text: "API keys go to the registry only, over HTTPS."},
		{ID: "A1", Area: "Adapters", Severity: high, WhyNot: noAgents, Text: "Texts never become flags of external programs."},
		{ID: "T1", Area: "Terminal", Severity: medium, Test: "internal/terminal.TestClean", Probe: m.sequences,
			Text: "Untrusted text cannot steer the terminal."},
		{ID: "L1", Area: "Models", Severity: high, Test: "internal/providers/wire.TestCheck, internal/providers/wire.TestAnswersAreBounded", Probe: m.modelServers,
			Text: "Keys go to the configured host only, over HTTPS or to this machine. Answers of models have limits."},

		{ID: "W1", Area: "Trust", Severity: critical, Test: "store/file.TestSealed, test.TestFullAttacks", Probe: m.forgery,
			Text: "A history that your perstack did not seal is not continued."},
		{ID: "W2", Area: "Trust", Severity: critical, Test: "internal/protect.TestMarks, test.TestTrustAfterKill", Probe: m.trustedFiles,
			Text: "A trusted file that a job created or changed is not read until you accept it."},
		{ID: "W3", Area: "Trust", Severity: critical, Test: "internal/programs.TestCompare, internal/packages.TestTamperedCache", Probe: m.pinnedPrograms,
			Text: "Programs of skills are compared with their digest before they start."},
		{ID: "W4", Area: "Trust", Severity: critical, Test: "test.TestFullAttacks, internal/sandbox.TestInsideReachesNoListener, internal/sandbox.TestInsideProtectsFromVandals", Probe: m.confined,
			Text: "A program in the sandbox reaches neither your files, nor other processes, nor local ports."},
		{ID: "W5", Area: "Trust", Severity: high, Test: "internal/consent.TestList, test.TestConsentOnTerminal", Probe: m.consentIsAsked,
			Text: "What a project asks for beyond the defaults needs your consent."},
		{ID: "W6", Area: "Trust", Severity: high, Test: "engine.TestApprovals, internal/approval/calls.TestDigest, test.TestScripts/approve", Probe: m.approved,
			Text: "An approval is for one exact call."},
		{ID: "W7", Area: "Trust", Severity: medium, Test: "internal/restore.TestUndoAndBack, internal/restore.TestKilledRestores, test.TestScripts/undo", Probe: m.undone,
			Text: "What a job changed in the workspace can be undone."},
		{ID: "W8", Area: "Trust", Severity: medium, Test: "internal/sandbox.TestWaste, internal/sandbox.TestPolicyTooMany, test/docker.TestFullDisk", Probe: m.resources,
			Text: "Disk, memory and processes of a job are limited by default."},
		{ID: "W9", Area: "Trust", Severity: high, WhyNot: noAgents, Text: "Other agents hold no real key, and reach only what perstack gives them."},
	}
}
