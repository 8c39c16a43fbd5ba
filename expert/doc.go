// Package expert knows what an Expert is: the grammar of its key, the file
// perstack.toml that declares it, the rules that file must obey, and the .env
// files that complete it.
//
// It reads files and returns values. It never starts a process, never dials
// out, never expands a variable and never prints; a secret that it has read
// cannot be printed by accident (see [Env]). What is wrong with a file is
// reported all at once, each finding with file, line, column and a hint.
//
// Start reading at [Parse], which turns the bytes of a perstack.toml into a
// [Config] or a list of [Problem]s. [Locate] and [Load] find and read the file;
// [EnvFiles] and [LoadEnv] do the same for the environment. [ParseKey] holds the
// grammar of names such as @acme/writer@1.2.0. Keys that this version can read
// but not yet act upon are listed by [Config.Unsupported].
package expert
