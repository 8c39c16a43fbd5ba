package manifest

import (
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// This file describes the top level and the provider.

func topSchema() *jsonSchema {
	keys := describe(topKeys, topDescriptions())
	keys = append(keys, property{"temperature", (&jsonSchema{Description: "No longer used; remove it."}).hidden()})
	return closed("Experts, the model that thinks for them, and what they may use.", keys)
}

func topDescriptions() map[string]*jsonSchema {
	return map[string]*jsonSchema{
		"provider": providerSchema(),
		"model":    text("Model to ask; each provider has its own default.", 1, 255),
		"reasoningBudget": (&jsonSchema{
			Description: "How much the model may think before it answers: a level, or a number of tokens.",
			AnyOf: []*jsonSchema{
				words("A named level.", string(expert.ReasoningNone), string(expert.ReasoningMinimal), string(expert.ReasoningLow), string(expert.ReasoningMedium), string(expert.ReasoningHigh)),
				number("A number of tokens; 0 is none.", 0),
			},
		}).or(string(expert.DefaultReasoningBudget)),
		"runtime": (&jsonSchema{
			Description: "What carries out the runs; local is the built-in runtime.",
			AnyOf: []*jsonSchema{
				words("A runtime.", runtimeNames...),
				(&jsonSchema{Description: "The older name of local.", Const: "perstack"}).hidden(),
			},
		}).or(job.Local),
		"maxSteps":           number("Most steps that a whole job may take, delegates included.", 1).or(expert.DefaultMaxSteps),
		"maxTokens":          limit("Most tokens that a whole job may use, delegates included.", expert.MostTokens),
		"maxCost":            money("Most US dollars that a whole job may cost, delegates included.", expert.MostCost),
		"maxDuration":        duration("How long a job may work, such as 30m."),
		"maxDepth":           limit("Most Experts on one path of delegation, the first one included.", expert.MostDepth).or(expert.DefaultMaxDepth),
		"maxParallel":        limit("Most Experts of a job that work at the same time.", expert.MostParallel).or(expert.DefaultMaxParallel),
		"maxRetries":         number("How often one generation is tried again after it failed.", 0).or(expert.DefaultMaxRetries),
		"timeout":            number("Milliseconds that one generation may take.", 0).or(expert.DefaultTimeout.Milliseconds()),
		"maxWorkspaceBytes":  size("Most bytes that the files of the workspace may take on the disk; a run that reaches it is stopped.", 1),
		"docker":             dockerSchema(),
		"prices":             tablesOf("What models cost, by the name of the model; it goes before what perstack knows.", text("", 1, 255), priceSchema()),
		"models":             tablesOf("What perstack shall know of models, by the name of the model; it goes before what it knows.", text("", 1, 255), modelSchema()),
		"experts":            tablesOf("The Experts of this file, by name.", pattern("", expert.NamePattern, expert.MaxName), expertSchema()),
		"perstackApiBaseUrl": pattern("Address of the registry.", secureURL, 0).or(DefaultAPIBaseURL),
		"perstackBaseSkillCommand": array("Program and arguments that take the place of the built-in base skill.", 0,
			anyText("The program, then its arguments.")),
		"envPath": array("Env files to read, relative to this file; an empty list reads none.", 0, text("Path of an env file.", 1, 4096)),
	}
}

func priceSchema() *jsonSchema {
	low := 0
	dollars := func(about string) *jsonSchema {
		return &jsonSchema{Description: about, Type: "number", Minimum: &low, Maximum: mostPrice}
	}
	return closed("What a model costs, in US dollars for a million tokens.", describe(priceKeys, map[string]*jsonSchema{
		"input":       dollars("What the model reads."),
		"output":      dollars("What the model writes, its thinking included."),
		"cachedInput": dollars("What is read from the cache of the provider; as input when absent."),
		"cacheWrite":  dollars("What is written to that cache; as input when absent or 0."),
	}), "input", "output")
}

func modelSchema() *jsonSchema {
	return closed("What is known of a model; what is absent stays as it was.", describe(modelKeys, map[string]*jsonSchema{
		"contextWindow":   limit("Most tokens that a request and its answer may have.", mostWindow),
		"maxOutputTokens": limit("Most tokens that one answer may have, its thinking included.", mostWindow),
		"reasoning":       words("How the model is asked to think.", reasoningWords...),
		"efforts":         array("The words by which effort or adaptive thinking is asked for, from little to much.", mostEfforts, text("Such a word.", 1, 64)),
		"images":          {Description: "Whether the model can look at images.", Type: "boolean"},
		"pdf":             {Description: "Whether the model can read PDF files.", Type: "boolean"},
	}))
}

// providerSchema knows the settings of all providers, and takes away those of the
// others once the provider is named.
func providerSchema() *jsonSchema {
	var all [][]string
	var conditions []*jsonSchema
	for _, p := range providerSettings {
		all = append(all, p.keys)
		own := properties{{"setting", &jsonSchema{PropertyNames: &jsonSchema{Enum: p.keys}}}}
		conditions = append(conditions, when("providerName", p.name, &jsonSchema{Properties: own}))
	}
	s := closed("Who runs the model.", properties{
		{"providerName", words("Name of the provider; replay plays prepared answers and needs no key.", model.Providers()...)},
		{"setting", closed("Settings of this provider.", describe(union(all...), settingDescriptions()))},
	}, "providerName")
	s.AllOf = conditions
	return s
}

func settingDescriptions() map[string]*jsonSchema {
	headers := &jsonSchema{
		Description:          "Headers that every request carries; keep keys out of files that others can read.",
		Type:                 "object",
		PropertyNames:        &jsonSchema{Pattern: headerName},
		AdditionalProperties: pattern("Value of the header.", headerValue, 0),
	}
	return map[string]*jsonSchema{
		"baseUrl":                pattern("Address to send requests to; https, or plain http on this machine.", anyURL, 0),
		"headers":                headers,
		"allowPrivateEndpoint":   flag("Lets baseUrl be an address of a private network."),
		"organization":           pattern("Organization that requests are billed to.", headerValue, 0),
		"project":                pattern("Project that requests belong to.", headerValue, 0),
		"name":                   anyText("Name under which the provider appears."),
		"resourceName":           pattern("Resource of Azure; it becomes part of the host name.", oneHostLabel, 0),
		"apiVersion":             anyText("Version of the API of Azure."),
		"useDeploymentBasedUrls": flag("Puts the name of the deployment into the address."),
		"region":                 pattern("Region of AWS; it becomes part of the host name.", oneHostLabel, 0),
		"location":               pattern("Location of Google Cloud; it becomes part of the host name.", oneHostLabel, 0),
		"extraBody":              {Description: "Members that are added to every request, for what perstack does not know yet.", Type: "object", PropertyNames: text("", 1, maxExtraName)},
		"guardrail": closed("Guardrail of Amazon Bedrock that looks at what goes in and out.", describe(guardrailKeys, map[string]*jsonSchema{
			"identifier": text("Id or ARN of the guardrail.", 1, 2048),
			"version":    text("Its version: a number in quotes, or DRAFT.", 1, 255),
			"trace":      words("Whether answers say what the guardrail did.", traceWords...),
		}), "identifier", "version"),
		"safetySettings": array("From which degree on Google withholds which kind of answer.", len(harmCategories), closed("One kind of answer.", describe(safetyKeys, map[string]*jsonSchema{
			"category":  words("The kind.", harmCategories...),
			"threshold": words("The degree.", harmThresholds...),
		}), "category", "threshold")),
		"cassette": text("File with the prepared answers, relative to this file.", 1, 4096),
	}
}
