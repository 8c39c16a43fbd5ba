#!/bin/sh
# Installs the components of package.json, and fills a cache that npm can install the
# servers from without a network: make npm
#
#   .tools/npm           the servers and the Inspector
#   .tools/npm/runtime   the Node and the npm that run them
#   .tools/npm-cache     what npm fetched for them
#
# No script of any package runs. The npm that is found here fetches nothing but the one
# that the tests use: what one npm looks up and accepts, another does not.
set -eu
cd "$(dirname "$0")/../.."
here=$PWD/test/npm
tools=$PWD/.tools/npm
export npm_config_cache="$PWD/.tools/npm-cache"
export npm_config_ignore_scripts=true npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
export npm_config_loglevel=error npm_config_prefer_offline=true # each thing is fetched once

command -v npm >/dev/null || {
	echo "make npm: npm is missing; install Node.js with npm, of whatever version" >&2
	exit 1
}

# Built beside its place, so that an installation that was cut short is not taken for one.
new=$tools.new
rm -rf "$new"
mkdir -p "$new/runtime"
cp "$here/package.json" "$here/package-lock.json" "$new/"
cp "$here/runtime/package.json" "$here/runtime/package-lock.json" "$new/runtime/"
npm config get registry >"$new/registry" # what is in the cache is known by its address
(cd "$new/runtime" && npm ci)
PATH=$new/runtime/node_modules/.bin:$PATH
for node in "$new"/runtime/node_modules/node-linux-*/bin; do
	[ ! -x "$node/node" ] || PATH=$node:$PATH
done
(cd "$new" && npm ci)

temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
fetch() { # PACKAGE[@VERSION]: everything that an installation of it alone needs
	rm -rf "$temp/one"
	mkdir "$temp/one"
	echo '{"private":true}' >"$temp/one/package.json"
	(cd "$temp/one" && npm install "$1" >/dev/null)
}
servers=$(sed -n 's,^ *"\(@modelcontextprotocol/server-[^"]*\)": "\([^"]*\)".*,\1@\2,p' "$here/package.json")
for server in $servers; do
	name=${server%@*}
	fetch "$name"
	grep -q "\"version\": \"${server##*@}\"" "$temp/one/node_modules/$name/package.json" || fetch "$server"
done

rm -rf "$tools"
mv "$new" "$tools"
echo "the components are in .tools/npm"
