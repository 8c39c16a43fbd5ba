package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// sandboxEnv is the variable that has the value of --sandbox if the flag is not given. Env files
// of a project do not set it.
const sandboxEnv = "PERSTACK_SANDBOX"

// AddSandboxFlag adds --sandbox, the least level of the sandboxes of programs. The command has to
// call [CheckSandbox], and [Host.Sandbox] for the level.
func AddSandboxFlag(cmd *cobra.Command, level *expert.SandboxLevel, usage string) {
	cmd.Flags().StringVar((*string)(level), "sandbox", "", usage+": auto, full, landlock or off (default: $"+sandboxEnv+", else from perstack.toml and config.toml, else auto)")
	completeValues(cmd, "sandbox", expert.SandboxLevels()...)
}

// CheckSandbox refuses an unknown value of --sandbox.
func CheckSandbox(flags *pflag.FlagSet, level expert.SandboxLevel) error {
	if _, err := expert.ParseSandboxLevel(string(level)); err != nil && flags.Changed("sandbox") {
		return ErrSandboxValue()
	}
	return nil
}

// Sandbox is the level that the user asks for: by the flag, else by the environment.
func (h *Host) Sandbox(flag expert.SandboxLevel) (expert.SandboxLevel, error) {
	text := h.Getenv(sandboxEnv)
	if flag != "" || text == "" {
		return flag, nil
	}
	level, err := expert.ParseSandboxLevel(text)
	if err != nil {
		return "", Usagef("%s is %q; it takes %s", sandboxEnv, text, wording.Or(expert.SandboxLevels()))
	}
	return level, nil
}

// OfferedSandbox returns what this machine offers.
func (h *Host) OfferedSandbox(ctx context.Context) local.Offer {
	return local.Offered(ctx, h.StatePath())
}

// ErrSandboxValue is the answer to --sandbox without a value, or with an unknown one.
func ErrSandboxValue() error {
	return Usagef("--sandbox takes %s", wording.Or(expert.SandboxLevels()))
}

// AddReachFlags adds the flags that open more to sandboxed programs. The command has to call
// [Host.CheckReach] before it uses them.
func AddReachFlags(cmd *cobra.Command, reach *job.Reach) {
	flags := cmd.Flags()
	flags.StringArrayVar(&reach.Read, "sandbox-read", nil, "file or directory outside of the workspace that sandboxed programs can read; can be repeated")
	flags.StringArrayVar(&reach.Write, "sandbox-write", nil, "file or directory outside of the workspace that sandboxed programs can change; can be repeated")
	flags.StringVar(&reach.Network, "sandbox-network", "", "network of sandboxed programs: none, listed (their allowedDomains) or host (default: from perstack.toml, else listed)")
	completeValues(cmd, "sandbox-network", job.Networks()...)
	if err := errors.Join(cmd.MarkFlagFilename("sandbox-read"), cmd.MarkFlagFilename("sandbox-write")); err != nil {
		panic(err) // the flags are defined above
	}
}

// AddDomainFlag adds the flag that opens hosts to commands.
func AddDomainFlag(cmd *cobra.Command, reach *job.Reach) {
	cmd.Flags().StringArrayVar(&reach.Domains, "allow-domain", nil, "host that sandboxed commands can reach, besides the allowedDomains of @perstack/base; can be repeated")
	completeValues(cmd, "allow-domain")
}

// ReachFlags names the flags that were given.
func ReachFlags(reach job.Reach) (flags []string) {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--sandbox-read", len(reach.Read) > 0}, {"--sandbox-write", len(reach.Write) > 0}, {"--sandbox-network", reach.Network != ""}, {"--allow-domain", len(reach.Domains) > 0},
	} {
		if f.given {
			flags = append(flags, f.name)
		}
	}
	return flags
}

// CheckNetwork refuses the network of the machine for sandboxes that cannot have it. At level
// landlock the kernel checks TCP ports only, so that all else is refused, such as asking for names.
func CheckNetwork(network string, level expert.SandboxLevel, offer local.Offer) error {
	if network != job.NetworkHost || level == expert.SandboxFull {
		return nil
	}
	return Usagef("the network of the machine needs a sandbox of level full, and this one has level %s (%w); name the hosts in allowedDomains and use --sandbox-network listed, or see perstack doctor for what is missing", level, offer.Why)
}

// CheckReach refuses values of the flags that cannot be used, and makes their paths whole.
func (h *Host) CheckReach(reach *job.Reach) error {
	if reach.Network != "" && !slices.Contains(job.Networks(), reach.Network) {
		return Usagef("--sandbox-network takes %s", wording.Or(job.Networks()))
	}
	for _, host := range reach.Domains {
		if message, hint := netaddr.DomainPattern(host); message != "" {
			return Usagef("--allow-domain: %s; %s", message, hint)
		}
	}
	for flag, list := range map[string][]string{"--sandbox-read": reach.Read, "--sandbox-write": reach.Write} {
		for i, path := range list {
			real, err := h.checkOpened(h.Path(path))
			if err != nil {
				return Usagef("%s: %w", flag, err)
			}
			list[i] = real
		}
	}
	return nil
}

// SandboxPaths makes the paths whole that [sandbox] of a file opens. It refuses those that cannot
// be opened, with key and line.
func (h *Host) SandboxPaths(config *manifest.Config) error {
	return h.wholePaths(&config.Settings.Isolation.Reach, config.Dir, config.Problem)
}

// wholePaths makes the paths of a file in dir whole.
func (h *Host) wholePaths(reach *job.Reach, dir string, problem func(path, message, hint string) toml.Problem) error {
	var problems toml.Problems
	whole := func(key string, list []string) (paths []string) {
		for i, path := range list {
			at := path
			if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) && h.Home != "" {
				at = filepath.Join(h.Home, rest)
			} else if !filepath.IsAbs(path) {
				at = filepath.Join(dir, path)
			}
			real, err := h.checkOpened(at)
			if err != nil {
				problems = append(problems, problem(toml.PathTo("sandbox", key, strconv.Itoa(i)), err.Error(), "name another path, or remove it"))
				continue
			}
			paths = append(paths, real)
		}
		return paths
	}
	reach.Read, reach.Write = whole("readable", reach.Read), whole("writable", reach.Write)
	if err := problems.Err(); err != nil {
		return &ExitError{Code: ExitUsage, Err: err}
	}
	return nil
}

// checkOpened says why a path cannot be opened to sandboxed programs, or returns it without links.
// It is the only place that decides it: nothing that the user allows opens these paths.
func (h *Host) checkOpened(path string) (real string, err error) {
	return policy.NewPlaces(h.Home, h.StatePath(), h.Dir, h.Environ).CheckPath("path", path)
}

// SandboxWorkspace refuses a workspace that a sandbox cannot open as a whole: that of the machine,
// of the user, or one that contains the state of perstack, where the key is that seals the history.
// It returns what the user should know about the others.
func (h *Host) SandboxWorkspace(history History, workspace string, level expert.SandboxLevel) (open string, err error) {
	if dir := consent.Resolve(workspace); dir == filepath.Dir(dir) || h.Home != "" && dir == consent.Resolve(h.Home) {
		return "", Usagef("the workspace %s is too large for a sandbox, which opens all of it; choose a smaller one with --workspace", terminal.CleanLine(dir))
	}
	found, state, err := history.In(workspace)
	switch {
	case err != nil:
		return "", Usagef("look for the history in the workspace: %w", err)
	case state:
		return "", Usagef("the workspace contains %s, where perstack keeps its key and history, and a sandbox cannot hide it; choose a smaller one with --workspace", found[0])
	case len(found) > 0 && level != expert.SandboxFull:
		return fmt.Sprintf("the sandbox cannot hide the history in the workspace (%s): programs can read and remove it", found[0]), nil
	}
	return "", nil
}

// Unenforced says which keys of [sandbox] programs are not held to at a level; "" if there are
// none. File tools always keep to hide and protect.
func Unenforced(is job.Isolation, level expert.SandboxLevel) string {
	var keys []string
	if level == "" {
		level = expert.SandboxOff
	}
	needs := expert.SandboxLandlock
	for _, k := range []struct {
		name  string
		said  bool
		needs expert.SandboxLevel
	}{
		{"hide", len(is.Reach.Hide) > 0, expert.SandboxFull}, {"protect", len(is.Reach.Protect) > 0, expert.SandboxFull},
		{"memory", is.SandboxLimits.Memory > 0, expert.SandboxLandlock}, {"diskGrowth", is.SandboxLimits.DiskGrowth > 0, expert.SandboxLandlock},
	} {
		if !k.said || level == expert.SandboxFull || level == k.needs {
			continue
		}
		keys = append(keys, k.name)
		if k.needs == expert.SandboxFull {
			needs = expert.SandboxFull
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return fmt.Sprintf("nothing holds programs to %s in [sandbox]: that needs level %s, and theirs is %s", wording.And(keys), needs, level)
}

// AcceptNoSandbox asks whether commands can run with all rights of the user on a machine without
// a sandbox. The answer is kept for the project; without a terminal there is none.
func (h *Host) AcceptNoSandbox(ctx context.Context, config *manifest.Config, workspace string, why error) error {
	q := Question{Host: h, Project: consent.Project{Config: config}, Workspace: workspace}
	list := []consent.Request{consent.NoSandbox()}
	if q.answers().Allow(list) {
		return nil
	}
	if !h.CanConfirm() {
		return Usagef("this machine has no sandbox: %w; use --runtime docker, or accept it with --sandbox=off", why)
	}
	yes, err := h.Confirm(ctx, "Commands will run with all your rights (%s). Run them?", terminal.CleanLine(why.Error()))
	switch {
	case err != nil:
		return err
	case !yes:
		return Usagef("not allowed; nothing was started")
	}
	q.remember(list)
	return nil
}

func completeValues(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is defined above
	}
}

// ForeignWorkspace returns a line that says what root can expect of programs in the workspace of
// another user; empty for other users and for workspaces of root.
func ForeignWorkspace(dir string) string {
	if os.Geteuid() != 0 || !userfile.ForeignPath(dir) {
		return ""
	}
	return "you are root, and the workspace belongs to another user: commands and skills run without the rights of root, " +
		"so they can use there only what all users can; run perstack as that user"
}
