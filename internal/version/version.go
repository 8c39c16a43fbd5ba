// Package version knows which perstack this is.
package version

import "runtime/debug"

// number is the release. A build of another state of the sources says so by [String].
const number = "0.1.0"

// String returns the version, like 0.1.0 or 0.1.0+3f2a91c for a build between releases.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return number
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 7 {
			return number + "+" + s.Value[:7]
		}
	}
	return number
}
