package rules

import (
	"os"
	"sync"
	"testing"
)

// A rule looks at the whole tree and returns what breaks it.
type rule struct {
	name string
	says string // what must hold, and why
	fix  string // what to do about a finding
	find func(*tree) []finding
}

var rules = []rule{
	{
		name: "arrows",
		says: "imports go down: cli -> perstack -> runtimes -> engine -> model, skill, store -> job, event, expert",
		fix:  "move the code to the package it belongs to, or let the caller hand in what is needed through a small interface; a new package or arrow goes into docs/architecture.md and into imports_test.go",
		find: forbiddenArrows,
	},
	{
		name: "test-packages",
		says: "packages made for tests are imported by tests alone",
		fix:  "import it from a _test.go file, or move what the program needs to a package of its own",
		find: testPackagesInProgram,
	},
	{
		name: "reserved-imports",
		says: "what can do harm belongs to one package, where one reader can check what is done with it",
		fix:  "call the package that owns it; what none owns has a replacement, named above",
		find: reservedImports,
	},
	{
		name: "reserved-names",
		says: "some functions reach past the package that owns what they touch",
		fix:  "take the value from the caller, or call the package that owns it",
		find: reservedNames,
	},
	{
		name: "starts",
		says: "few files can start a process, and each is listed with what it starts",
		fix:  "give a sandbox.Command with a policy to a sandbox.Supervisor",
		find: strayStarts,
	},
	{
		name: "policies",
		says: "no program starts without a policy",
		fix:  "give it the policy of its job, or that of an exemption in internal/sandbox/policy/off.go",
		find: missingPolicies,
	},
	{
		name: "exemptions",
		says: "programs without a sandbox are in one table, which says why, and has no others",
		fix:  "call policy.Off with a constant of internal/sandbox/policy/off.go; a new one gets a row there, and go test ./internal/sandbox/policy -update writes it to docs/sandbox.md",
		find: exemptions,
	},
	{
		name: "libraries",
		says: "a library is used in the packages that were given it, so that it can be replaced and its reach can be seen",
		fix:  "use the package that wraps the library; a new library goes into libraries_test.go with its users, and its reason into the commit",
		find: strayLibraries,
	},
	{
		name: "library-versions",
		says: "some libraries have versions that cost every start, or do harm",
		fix:  "go get the named version, or a newer one",
		find: oldLibraries,
	},
	{
		name: "package-names",
		says: "a package is named after what it is",
		fix:  "name it after its one idea; if there is none, its parts belong to their callers",
		find: emptyNames,
	},
	{
		name: "package-comments",
		says: "each package says what it is for, what it never does and where to start reading",
		fix:  "add a comment that begins with \"Package <name>\" (or \"Command <name>\") above the package clause, in doc.go when it is long",
		find: missingPackageComments,
	},
	{
		name: "file-length",
		says: "no Go file has more than 600 lines",
		fix:  "a file holds one idea: find the second one and move it out",
		find: longFiles,
	},
	{
		name: "no-init",
		says: "nothing happens before main: no init functions",
		fix:  "make it a function that someone calls, or the value of a variable",
		find: initFunctions,
	},
	{
		name: "no-shared-state",
		says: "package variables never change: two jobs in one process do not know of each other",
		fix:  "put the variable into a struct that is handed down",
		find: sharedState,
	},
	{
		name: "no-sleep-in-tests",
		says: "tests do not wait for the clock: a sleep is too short on a busy machine and too long on every other",
		fix:  "wait for the event itself, or run the test in a testing/synctest bubble, where a sleep takes no time",
		find: sleepingTests,
	},
	{
		name: "links",
		says: "links between our pages and files lead somewhere",
		fix:  "correct the path or the #heading",
		find: deadLinks,
	},
	{
		name: "toml-snippets",
		says: "every TOML snippet in our pages can be parsed",
		fix:  "correct the snippet; if it is not TOML on purpose, mark its block as text",
		find: brokenTOML,
	},
	{
		name: "documented-commands",
		says: "every perstack command, make target and Go package that a page shows exists",
		fix:  "correct the page",
		find: unknownCommands,
	},
	{
		name: "documented-tests",
		says: "every test that a page names exists: a promise without a test is not a promise",
		fix:  "name the test that proves the sentence, or take the sentence back",
		find: unknownTests,
	},
	{
		name: "words-in-pages",
		says: "pages use the words of docs/glossary.md, one for each thing, and no metaphors",
		fix:  "write what is proposed, or rewrite the sentence: subject, verb, object",
		find: avoidedInPages,
	},
	{
		name: "words-in-messages",
		says: "help and errors use the words of docs/glossary.md, one for each thing, and no metaphors",
		fix:  "write what is proposed, or rewrite the sentence: subject, verb, object",
		find: avoidedInMessages,
	},
	{
		name: "words-in-code",
		says: "comments and names, messages of tests, scripts and examples use the words of docs/glossary.md, and no metaphors",
		fix:  "write what is proposed, or rewrite the sentence: subject, verb, object",
		find: avoidedInCode,
	},
	{
		name: "flags-in-libraries",
		says: "a message of a library package names no flag and no command: errors carry data, and internal/cli adds the words",
		fix:  "return an error type with the facts, and add the flag in internal/cli, or say it without the flag",
		find: commandWordsInLibraries,
	},
	{
		name: "examples",
		says: "an example in the package documentation can be copied: it imports nothing internal",
		fix:  "use the public packages; what they lack is missing in the API",
		find: internalExamples,
	},
	{
		name: "page-width",
		says: "prose is wrapped at 100 columns",
		fix:  "wrap the paragraph; tables, code, headings and links can be longer",
		find: wideProse,
	},
}

// repository is the tree that these tests are part of. Loading it takes a second.
var repository = sync.OnceValues(func() (*tree, error) { return load(os.DirFS("../..")) })

func TestRules(t *testing.T) {
	tree, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	// A loader that finds nothing would pass every rule.
	for _, dir := range []string{"event", "engine", "internal/rules"} {
		if len(tree.packages[dir]) == 0 {
			t.Fatalf("no Go files were found in %s", dir)
		}
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, found := range rule.find(tree) {
				t.Errorf("%s\n\trule: %s\n\tfix:  %s", found, rule.says, rule.fix)
			}
		})
	}
}
