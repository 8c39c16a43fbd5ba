package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestToolchains(t *testing.T) {
	for name, test := range map[string]struct {
		files []string
		path  string // HOME and DIR are replaced
		want  []string
	}{
		"none": {files: []string{"home/x"}, path: "/usr/bin:/bin"},
		"the usual ones": {
			files: []string{"home/.cargo/bin/cargo", "home/.cargo/credentials.toml", "home/.nvm/versions/node/v1/bin/node", "home/go/bin/x", "home/go/pkg/mod/", "home/go/src/", "home/.local/bin/", "home/.local/share/keyrings/"},
			want:  []string{"home/.cargo/bin", "home/.local/bin", "home/.nvm/versions", "home/go/bin", "home/go/pkg/mod"},
		},
		"PATH": {
			files: []string{"home/bin/", "home/.bun/bin/", "home/.local/share/pnpm/", "home/.config/composer/vendor/bin/", "home/project/node_modules/.bin/", "home/file", "DIR/x"},
			path:  "HOME/bin:HOME/.bun/bin/:HOME/.local/share/pnpm:HOME/.config/composer/vendor/bin:HOME/project/node_modules/.bin:HOME/file:HOME/none:bin:.::DIR/x",
			want:  []string{"home/.bun/bin", "home/.config/composer/vendor/bin", "home/.local/share/pnpm", "home/bin", "home/project/node_modules/.bin"},
		},
		"whole directories": {
			files: []string{"home/.cargo/bin/", "home/.local/bin/", "home/.ssh/bin/", "home/.config/gh/bin/", "home/.config/x/", "home/.tool/", "home/.aws/"},
			path:  "HOME:HOME/:HOME/.cargo:HOME/.local:HOME/.ssh/bin:HOME/.config:HOME/.config/gh/bin:HOME/.config/x:HOME/.tool:HOME/.aws:HOME/..",
			want:  []string{"home/.cargo/bin", "home/.local/bin"},
		},
		"links": {
			files: []string{
				"home/.ssh/id", "home/bin -> .ssh", "home/.cargo/bin -> ../.ssh", "home/.local/bin -> ../dotfiles", "home/dotfiles/x", "home/work -> dotfiles", "home/a/b/",
				"home/c -> a", "home/.volta/bin -> ../.pyenv/bin", "home/.pyenv/bin/", "home/go -> ../data/go", "data/go/bin/", "home/root -> /", "home/up -> ..", "home/.sdkman/candidates -> nowhere",
			},
			path: "HOME/bin:HOME/work:HOME/c/b:HOME/root:HOME/up:HOME/a/b",
			want: []string{"data/go/bin", "home/.pyenv/bin", "home/a/b"},
		},
		"the workspace and the state": {
			files: []string{"home/workspace/node_modules/.bin/", "home/state/x/bin/", "home/bin -> workspace", "home/go/bin/"},
			path:  "HOME/workspace/node_modules/.bin:HOME/workspace:HOME/state/x/bin:HOME/bin", want: []string{"home/go/bin"},
		},
		"one in another": {files: []string{"home/sdk/go1/bin/"}, path: "HOME/sdk/go1/bin:HOME/sdk", want: []string{"home/sdk"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			build(t, dir, test.files...)
			home, workspace := filepath.Join(dir, "home"), filepath.Join(dir, "home/workspace")
			places := Places{Home: home, State: filepath.Join(dir, "home/state")}
			path := strings.NewReplacer("HOME", home, "DIR", dir, ":", string(filepath.ListSeparator)).Replace(test.path)
			var want []string
			for _, name := range test.want {
				want = append(want, filepath.Join(dir, name))
			}
			if diff := cmp.Diff(want, Toolchains(places, workspace, path)); diff != "" && (len(want) > 0 || len(Toolchains(places, workspace, path)) > 0) {
				t.Error(diff)
			}
			// A home directory that is reached through a link gives the same.
			build(t, dir, "other -> home")
			other := filepath.Join(dir, "other")
			if diff := cmp.Diff(want, Toolchains(Places{Home: other, State: places.State}, workspace, strings.ReplaceAll(path, home, other))); diff != "" && len(want) > 0 {
				t.Error(diff)
			}
		})
	}
	if got := Toolchains(Places{}, "/w", "/usr/bin"); got != nil {
		t.Errorf("without a home directory: %v", got)
	}
}

// Whatever PATH and links say, no key is shown.
func TestToolchainsProperty(t *testing.T) {
	names := []string{"bin", ".cargo", ".ssh", ".local", "go", ".config", "gh", "x", "pkg", "mod", "..", "."}
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(tempDir(t), "case")
		if err != nil {
			rt.Fatal(err)
		}
		home := filepath.Join(dir, "home")
		build(t, dir, "home/.ssh/id", "home/.cargo/credentials.toml", "home/.config/gh/hosts.yml", "home/.aws/credentials")
		some := func(label string) string {
			return filepath.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(rt, label)...)
		}
		for range rapid.IntRange(0, 4).Draw(rt, "links") {
			at := filepath.Join(home, some("link"))
			if os.MkdirAll(filepath.Dir(at), 0o700) == nil {
				_ = os.Symlink(filepath.Join(home, some("target")), at)
			}
		}
		var path []string
		for range rapid.IntRange(0, 5).Draw(rt, "entries") {
			at := filepath.Join(home, some("entry"))
			_ = os.MkdirAll(at, 0o700)
			path = append(path, at)
		}
		got := Toolchains(Places{Home: home}, filepath.Join(dir, "w"), strings.Join(path, string(filepath.ListSeparator)))
		if !slices.IsSorted(got) {
			rt.Errorf("not sorted: %v", got)
		}
		for i, shown := range got {
			if real, err := filepath.EvalSymlinks(shown); err != nil || real != shown {
				rt.Errorf("%s has links: %s, %v", shown, real, err)
			}
			for _, secret := range []string{".ssh/id", ".cargo/credentials.toml", ".config/gh/hosts.yml", ".aws/credentials"} {
				if in(shown, filepath.Join(home, secret)) {
					rt.Errorf("%s shows %s", shown, secret)
				}
			}
			for _, other := range got[:i] {
				if touches(shown, other) {
					rt.Errorf("%s and %s", shown, other)
				}
			}
		}
	})
}
