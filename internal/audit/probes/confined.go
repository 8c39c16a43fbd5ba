package probes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
)

// confined attacks W4.
func (m *Machine) confined(ctx context.Context) audit.Result {
	ws, err := m.dir("ws")
	if err != nil {
		return noStart(err)
	}
	s, why, err := m.sandboxed(ctx, "W4", ws)
	if err != nil {
		return noStart(err)
	}
	if s.level == "" {
		return noSandbox(why)
	}
	servers, err := m.serve(ctx, hostile.Connect)
	if err != nil {
		return noStart(err)
	}
	defer servers.end()
	elsewhere, err := m.dir("elsewhere")
	if err != nil {
		return noStart(err)
	}
	secret := filepath.Join(elsewhere, "secret")
	if err := os.WriteFile(secret, []byte(canary), 0o600); err != nil {
		return noStart(err)
	}
	attacks := append(servers.attacks(), hostile.Read+"="+secret, hostile.Write+"="+secret, hostile.Read+"="+elsewhere)
	if s.full() {
		more, err := m.prepareWorkspace(ctx, &s)
		if err != nil {
			return noStart(err)
		}
		attacks = append(attacks, more...)
		attacks = append(attacks, hostile.Others+"=all")
	} else {
		attacks = append(attacks, hostile.Signal+"="+strconv.Itoa(m.PID))
	}
	free, err := m.run(ctx, m.command(ws, attacks...))
	if err != nil {
		return noStart(err)
	}
	if len(free.Did) != len(attacks) {
		return noControl(fmt.Sprintf("without a sandbox, these fail, too: %q", free.Failed))
	}
	plain := hostile.Write + "=" + filepath.Join(s.ws, "plain")
	if err := os.WriteFile(filepath.Join(s.ws, "plain"), nil, 0o600); err != nil {
		return noStart(err)
	}
	r, err := m.run(ctx, m.inside(s, append(attacks, plain)...))
	if err != nil {
		return noStart(err)
	}
	if did := slices.DeleteFunc(slices.Clone(r.Did), func(a string) bool { return a == plain }); len(did) > 0 {
		return audit.Break(s.runtime, "a program in the sandbox could %q", did)
	}
	if !slices.Contains(r.Did, plain) {
		return noControl("an ordinary file of the workspace cannot be written in the sandbox either")
	}
	const outside = "a program in the sandbox could not read or change a file outside, list its directory or connect to a local port"
	if !s.full() {
		return audit.Hold(s.runtime, outside+", nor signal perstack, and could without; protected files of the workspace are open at this level")
	}
	// Barriers behind others, which no attack notices: jobs do not start without them.
	for _, step := range m.Parts.SelfTest(ctx) {
		if step.Status == probe.Fail {
			return audit.Break(s.runtime, "the sandbox does not pass its self-test: it has to %s, but %s", step.Detail, step.Cause)
		}
	}
	return audit.Hold(s.runtime, outside+", nor read a file of the home directory, see another process, read env files, write perstack.toml or replace .git, and could without")
}

// prepareWorkspace puts files that are protected into the workspace and the home directory, and
// lets the sandbox protect them as that of a job does. It returns the attacks on them.
func (m *Machine) prepareWorkspace(ctx context.Context, s *sandboxed) (attacks []string, err error) {
	at := func(name string) string { return filepath.Join(s.ws, filepath.FromSlash(name)) }
	private := filepath.Join(s.policy.Home, "private")
	err = os.WriteFile(private, []byte(canary), 0o600)
	for _, name := range []string{".env", "sub/.env.local", "perstack.toml", "perstack.lock", ".git/config", ".git/hooks/pre-commit"} {
		err = errors.Join(err, os.MkdirAll(filepath.Dir(at(name)), 0o700), os.WriteFile(at(name), []byte(canary), 0o600))
	}
	if err != nil {
		return nil, err
	}
	found, err := m.Parts.Search(ctx, s.ws)
	if err != nil {
		return nil, err
	}
	s.policy.Hidden, s.policy.Frozen, s.policy.Pinned = found.Hidden, found.Frozen, found.Pinned
	return []string{
		hostile.Read + "=" + private, hostile.Read + "=" + at(".env"), hostile.Read + "=" + at("sub/.env.local"),
		hostile.Write + "=" + at("perstack.toml"), hostile.Write + "=" + at("perstack.lock"), hostile.Write + "=" + at(".git/config"),
		hostile.Write + "=" + at(".git/hooks/pre-commit"), hostile.Rename + "=" + at("perstack.toml"), hostile.Rename + "=" + at(".git"),
	}, nil
}

// stateIsHidden attacks W1 from inside: what seals the history, and the history itself, must not be
// visible to programs.
func (m *Machine) stateIsHidden(ctx context.Context, before audit.Result) audit.Result {
	ws, err := m.dir("ws")
	if err != nil {
		return noStart(err)
	}
	dir, err := m.dir("state")
	if err != nil {
		return noStart(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return noStart(err)
	}
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte(canary), 0o600); err != nil {
		return noStart(err)
	}
	s, _, err := m.sandboxed(ctx, "W1", ws)
	if err != nil {
		return noStart(err)
	}
	if s.level == "" {
		before.Evidence += "; that programs cannot reach the history needs a sandbox, and was not tried"
		return before
	}
	attacks := []string{hostile.Read + "=" + dir, hostile.Read + "=" + key, hostile.Write + "=" + key, hostile.Rename + "=" + dir}
	if free, err := m.run(ctx, m.command(ws, attacks...)); err != nil || len(free.Did) != len(attacks) {
		return noControl(fmt.Sprintf("without a sandbox, these fail, too: %q %v", free.Failed, err))
	}
	r, err := m.run(ctx, m.inside(s, attacks...))
	if err != nil {
		return noStart(err)
	}
	if len(r.Did) > 0 {
		return audit.Break(s.runtime, "a program in the sandbox could %q in a state directory", r.Did)
	}
	return audit.Hold(s.runtime, "%s; a program in the sandbox could neither list, read, write nor rename a state directory", before.Evidence)
}
