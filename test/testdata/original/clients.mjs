// The registry clients of the original, both generations, as a server sees them: the requests that they
// send, with the fetch of Node, and the answers that they accept. Written from the facts of the two
// protocols, because the original's packages cannot be had everywhere that these tests run.
//
//   node clients.mjs URL KEY OWNER     prints one line for each step, and fails at the first that a
//                                      client would report as an error
import { createRequire } from "node:module"
const { z } = createRequire(process.env.NODE_MODULES + "/")("zod")

const [base, key, owner] = process.argv.slice(2)
const name = /^(@[a-z0-9][a-z0-9_-]*\/)?[a-z0-9][a-z0-9_-]*$/
const version = /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[\w.-]+)?(?:\+[\w.-]+)?$/
const tag = /^[a-z0-9][a-z0-9_-]*$/
const pack = /^(?:@[a-z0-9][a-z0-9_.-]*\/)?[a-z0-9][a-z0-9_.-]*(?:@[\w.+-]+)?$/

// What the second generation reads: the envelope, and nothing inside the skills.
const loose = (() => {
  const common = {
    id: z.string(), key: z.string(), name: z.string(), minRuntimeVersion: z.literal("v1.0"), description: z.string(),
    owner: z.object({ name: z.string().optional(), organizationId: z.string(), createdAt: z.string() }),
    createdAt: z.string(), updatedAt: z.string(), tags: z.array(z.string()),
  }
  const expert = z.object({
    ...common, type: z.literal("registryExpert"), version: z.string(), status: z.enum(["available", "deprecated", "disabled"]),
    instruction: z.string(), skills: z.record(z.string(), z.unknown()), delegates: z.array(z.string()),
  })
  return { expert, digest: z.object({ ...common, type: z.literal("expertDigest"), version: z.string().optional() }) }
})()

// What the first generation reads: every member, by the rules of publishing.
const strict = (() => {
  const text = (max) => z.string().min(1).max(max)
  const mcp = { description: text(2048), rule: z.string().max(2048).optional(), pick: z.array(z.string()).optional(), omit: z.array(z.string()).optional() }
  const skill = z.discriminatedUnion("type", [
    z.object({ ...mcp, type: z.literal("mcpStdioSkill"), command: z.enum(["npx", "uvx"]), packageName: text(255).regex(pack),
      requiredEnv: z.array(z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]*$/)).optional() }),
    z.object({ ...mcp, type: z.literal("mcpSseSkill"), endpoint: z.url().startsWith("https://") }),
    z.object({ type: z.literal("interactiveSkill"), description: text(2048), rule: z.string().max(2048).optional(),
      tools: z.record(text(255).regex(tag), z.object({ description: text(2048), inputJsonSchema: text(20480) })) }),
  ])
  const common = {
    id: z.cuid2(), key: text(511), name: text(255).regex(name), minRuntimeVersion: z.enum(["v1.0"]), description: text(2048),
    owner: z.object({ name: z.string().max(128).optional(), organizationId: z.cuid2(), createdAt: z.iso.datetime() }),
    createdAt: z.iso.datetime(), updatedAt: z.iso.datetime(), tags: z.array(text(255).regex(tag)),
  }
  const expert = z.object({
    ...common, type: z.literal("registryExpert"), version: text(255).regex(version), status: z.enum(["available", "deprecated", "disabled"]),
    instruction: text(20480), skills: z.record(text(255).regex(pack), skill), delegates: z.array(text(511)),
  })
  return { expert, digest: z.object({ ...common, type: z.literal("expertDigest"), version: text(255).regex(version).optional() }) }
})()

// A client of one generation: the slash at the end of collections, the key on reads, and what it reads.
const client = (slash, keyOnReads, { expert, digest }) => {
  const one = z.object({ data: z.object({ expert }) })
  const ask = async (method, path, answer, body) => {
    const headers = { "Content-Type": "application/json" }
    if (method !== "GET" || keyOnReads) headers.Authorization = `Bearer ${key}`
    const response = await fetch(`${base}/api/registry/v1/experts${path}`, { method, headers, body: body && JSON.stringify(body) })
    const got = await response.json() // an answer without JSON is an error, whatever its status is
    if (!response.ok) throw new Error(`${response.status} ${got.error}: ${got.reason}`)
    return answer.parse(got)
  }
  const of = (k) => "/" + encodeURIComponent(k)
  const experts = z.object({ data: z.object({ experts: z.array(expert) }), meta: z.object({ total: z.number(), take: z.number(), skip: z.number() }) })
  const versions = z.object({ data: z.object({ versions: z.array(digest), latest: z.string() }), meta: z.object({ total: z.number() }) })
  return {
    get: async (k) => (await ask("GET", of(k), one)).data.expert,
    list: async (query) => (await ask("GET", `${slash}?${new URLSearchParams(query)}`, experts)).data.experts,
    versions: async (k) => (await ask("GET", of(k) + "/versions", versions)).data,
    create: async (input) => (await ask("POST", slash, one, input)).data.expert,
    update: async (k, input) => (await ask("POST", of(k), one, input)).data.expert,
    remove: (k) => ask("DELETE", of(k), z.object({})),
  }
}

// What the commands of the original send: every payload has the tag latest, absent lists are sent empty,
// and one release sent the runtimes of the Expert as well.
const payload = (n, v, more) => ({
  name: `@${owner}/${n}`, version: v, minRuntimeVersion: "v1.0", description: "Finds sources", instruction: "You find sources.",
  skills: {
    "@perstack/base": { type: "mcpStdioSkill", description: "@perstack/base skill", pick: [], omit: [], command: "npx", packageName: "@perstack/base", requiredEnv: [] },
    search: { type: "mcpSseSkill", description: "Search", pick: ["query"], omit: [], endpoint: "https://mcp.example.com/sse" },
    ask: { type: "interactiveSkill", description: "Ask", tools: { "ask-user": { description: "Ask", inputJsonSchema: '{"type":"object"}' } } },
  },
  delegates: [], tags: ["latest"], ...more,
})

const refused = (promise) => promise.then(() => { throw new Error("the registry did not refuse it") }, (e) => e.message)
for (const [generation, c, more] of [
  ["one", client("", false, strict), { runtime: ["perstack"] }],
  ["two", client("/", true, loose), {}],
]) {
  const say = (...words) => console.log(generation, ...words)
  const worker = `worker-${generation}`, lead = `lead-${generation}`, at = (n, v) => `@${owner}/${n}@${v}`
  say("publish", (await c.create(payload(worker, "1.0.0", more))).key)
  say("publish", (await c.create(payload(lead, "1.0.0", { ...more, delegates: [`@${owner}/${worker}`] }))).key)
  say("publish", (await c.create(payload(lead, "1.1.0", { ...more, delegates: [at(worker, "1.0.0")] }))).key)
  say("publish again", await refused(c.create(payload(lead, "1.1.0", more))))
  const resolved = await c.get(`@${owner}/${lead}`) // what run and install ask for
  say("resolve", resolved.key, resolved.delegates.join(), (await c.get(resolved.delegates[0])).key)
  // The runtime of the second generation goes through these lists and names without looking.
  const { "@perstack/base": stdio, search, ask } = (await (await fetch(`${base}/api/registry/v1/experts/${encodeURIComponent(`@${owner}/${lead}`)}`)).json()).data.expert.skills
  say("skills", stdio.requiredEnv.length, stdio.pick.length, search.omit.length, ask.tools["ask-user"].name)
  say("list", (await c.list({ filter: `@${owner}/lead-${generation}`, take: 10 })).map((e) => e.key).join())
  say("tag", (await c.update(at(lead, "1.1.0"), { tags: ["stable"] })).tags.join())
  say("tag older", (await c.update(at(lead, "1.0.0"), { tags: ["stable", "old"] })).tags.join())
  say("tag none", (await c.update(at(lead, "1.0.0"), { tags: [] })).tags.join() || "(none)")
  say("status", (await c.update(at(lead, "1.0.0"), { status: "deprecated" })).status)
  const all = await c.versions(`@${owner}/${lead}`)
  say("versions", all.versions.map((v) => v.version).join(), "latest", all.latest)
  say("unpublish a delegate", await refused(c.remove(at(worker, "1.0.0"))))
  say("unpublish", Object.keys(await c.remove(at(lead, "1.1.0"))).length)
  say("latest", (await c.get(`@${owner}/${lead}`)).key)
  say("gone", await refused(c.get(at(lead, "1.1.0"))))
}
