// Package version knows which perstack this is.
package version

import "runtime/debug"

// Number is the release. A build of another state of the sources says so by [String].
const Number = "0.1.0"

// IsRelease reports whether this is the build of a release, and not of a state before it.
func IsRelease() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && info.Main.Version == "v"+Number
}

// String returns the version, like 0.1.0 or 0.1.0+3f2a91c for a build between releases.
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
