// Package version knows which perstack this is.
package version

import "runtime/debug"

// Number is the version that the sources work towards. There is no release yet.
const Number = "0.1.0-unreleased"

// IsRelease reports whether this is the build of a release, and not of a state before it.
func IsRelease() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && info.Main.Version == "v"+Number
}

// String returns the version, like 0.1.0-unreleased+3f2a91c. The part after the plus is the
// commit that it was built from, if that is known.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Number
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 7 {
			return Number + "+" + s.Value[:7]
		}
	}
	return Number
}
