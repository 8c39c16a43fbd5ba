#!/usr/bin/env bash
# Builds a real Ollama server from its Go module into .tools/ollama, for make ollama.
#
# The module lacks three headers of C++ libraries. Two come from Debian packages, the third
# from another Go module. None of their functions is called: they belong to models that see
# and hear.
set -euo pipefail
cd "$(dirname "$0")/../.."

ollama=v0.24.0
malgo=v0.11.24
out=$PWD/.tools/ollama

for header in nlohmann/json.hpp stb/stb_image.h; do
	if [ ! -e "/usr/include/$header" ]; then
		echo "test/ollama/build.sh: $header is missing; install it with: apt-get install g++ nlohmann-json3-dev libstb-dev" >&2
		exit 1
	fi
done
mkdir -p "$out/include/miniaudio"
dir=$(cd "$out" && go mod download -json "github.com/gen2brain/malgo@$malgo" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
cp -f "$dir/miniaudio.h" "$out/include/miniaudio/"
chmod u+w "$out/include/miniaudio/miniaudio.h"

echo "building Ollama $ollama: about five minutes of two cores"
CGO_ENABLED=1 CGO_CXXFLAGS="-O2 -g0 -I$out/include" CGO_CFLAGS="-O2 -g0" GOFLAGS=-trimpath GOBIN="$out" \
	go install "github.com/ollama/ollama@$ollama"
