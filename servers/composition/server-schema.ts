import { z } from "zod";
import { duration, positiveDuration } from "./duration-text.js";
import { listenText } from "./listen-text.js";

const count = z.int().min(1);
const mebibyte = 1 << 20;

/** What every server may be told. */
const everywhere = {
  listen: listenText
    .describe(
      "host:port to listen on. Absent: a free port of the loopback interface. run and check take a free port in its place where it is on loopback and there is no public_url, so that serve may hold it.",
    )
    .optional(),
  credential: z
    .string()
    .min(1)
    .describe(
      "Bearer token of the controller: sent to a server at a URL, demanded by one that is started here, which needs it off loopback. Name an environment variable, so that it is not in the file.",
    )
    .optional(),
  public_url: z
    .string()
    .regex(/^https?:\/\/[^/?#]+$/, "expected http://host:port or https://host:port")
    .describe("Where other machines reach this server, as its answers name it. Absent: where it listens.")
    .optional(),
  ca: z
    .string()
    .min(1)
    .describe(
      "PEM file of certificates to trust when this server is called. Absent: the machine's own, or tls.cert.",
    )
    .optional(),
  client_cert: z
    .strictObject({
      cert: z.string().min(1).describe("PEM file of the certificate."),
      key: z.string().min(1).describe("PEM file of its private key."),
    })
    .describe("What to show this server when it is called and asks who calls (mutual TLS). Absent: nothing.")
    .optional(),
  options: z
    .record(z.string(), z.unknown())
    .describe("Options of the implementation; a module gets them as they are.")
    .optional(),
  tls: z
    .strictObject({
      cert: z.string().min(1).describe("PEM file of the certificate."),
      key: z.string().min(1).describe("PEM file of its private key."),
      client_ca: z
        .string()
        .min(1)
        .describe("PEM file of who may call; absent: callers show no certificate.")
        .optional(),
    })
    .optional(),
  drain_timeout: duration.describe("Time that held sessions are served after SIGTERM. 30s.").optional(),
  max_message_bytes: z
    .int()
    .min(4 * mebibyte)
    .describe("Largest message taken and sent. 4 MiB.")
    .optional(),
};

const queueTimeout = duration
  .describe("Longest wait for a free place; 0s: refused at once. A cap needs it (field-case-056).")
  .optional();

/** What a server that holds sessions may be told. */
const holding = {
  max_sessions: count.describe("Sessions held at once; needs queue_timeout.").optional(),
  queue_timeout: queueTimeout,
  max_lifetime: positiveDuration
    .describe("Age at which a session ends, whatever renews it. Absent: never by age.")
    .optional(),
};

const oneProcess =
  "It is one process, since its sessions live in it: there is no key for workers; start more servers instead.";
const whatItIs = "A name of ours, the path of a module, or the URL of anybody's running server.";

const environment = z
  .strictObject({
    environment: z.string().min(1).describe(`The environment. ${whatItIs}`),
    sandbox: z.string().min(1).describe("Name of the sandbox server that it takes boxes from.").optional(),
    verifier_key: z
      .string()
      .min(16)
      .describe(
        "Secret shared by replicas that verify each other's sessions by verifier_state. Name an environment variable. Absent: one of this process.",
      )
      .optional(),
    ...everywhere,
    ...holding,
  })
  .describe(`An environment server. ${oneProcess}`);
const agent = z
  .strictObject({
    agent: z.string().min(1).describe(`The agent. ${whatItIs}`),
    ...everywhere,
    ...holding,
  })
  .describe(`An agent server. ${oneProcess}`);
const model = z
  .strictObject({
    model: z.string().min(1).describe(`The model. ${whatItIs}`),
    max_concurrent_calls: count.describe("Calls on their way at once; needs queue_timeout.").optional(),
    ...everywhere,
    ...holding,
  })
  .describe(`A model server. ${oneProcess}`);
const sandbox = z
  .strictObject({
    sandbox: z.string().min(1).describe(`The sandbox. ${whatItIs}`),
    ...everywhere,
    ...holding,
  })
  .describe(`A sandbox server. ${oneProcess}`);
const episode = z
  .strictObject({
    episode: z
      .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
      .describe(
        "Its drivers, the default first: names of ours or paths of modules; or the URL of a running server.",
      ),
    max_concurrent_episodes: count.describe("Episodes at once; needs queue_timeout (EPI-E4-004).").optional(),
    queue_timeout: queueTimeout,
    episode_timeout: positiveDuration
      .describe("From Seed to the end of the last activation. 60m.")
      .optional(),
    seed_timeout: positiveDuration.describe("Each Seed. 5m.").optional(),
    open_timeout: positiveDuration.describe("Each Open and OpenGateway. 2m.").optional(),
    activation_timeout: positiveDuration.describe("Each activation. 30m.").optional(),
    verification_timeout: positiveDuration.describe("Each verification. 10m.").optional(),
    cleanup_timeout: positiveDuration.describe("Each clean-up. 30s.").optional(),
    records: z
      .string()
      .min(1)
      .describe(
        "SQLite file in which its episodes outlive the process (feature DURABLE). Absent: they live as long as it does.",
      )
      .optional(),
    ...everywhere,
  })
  .describe(
    `An episode server, which drives episodes and may bind every other server by its name. ${oneProcess}`,
  );

export type EnvironmentEntry = z.output<typeof environment>;
export type AgentEntry = z.output<typeof agent>;
export type ModelEntry = z.output<typeof model>;
export type SandboxEntry = z.output<typeof sandbox>;
export type EpisodeEntry = z.output<typeof episode>;

/** Schemas of the kinds of server, by the key that tells the kind; an environment may name a sandbox beside. */
export const serverKinds = { environment, agent, model, episode, sandbox } as const;
export type ServerKind = keyof typeof serverKinds;

/** A server entry with its kind. */
export type ServerEntry =
  | { readonly kind: "environment"; readonly entry: EnvironmentEntry }
  | { readonly kind: "agent"; readonly entry: AgentEntry }
  | { readonly kind: "model"; readonly entry: ModelEntry }
  | { readonly kind: "sandbox"; readonly entry: SandboxEntry }
  | { readonly kind: "episode"; readonly entry: EpisodeEntry };

/**
 * Keys that people expect and that are refused with the reason. There is no `workers`: sessions live in the memory of
 * the process that seeded them, so a second worker behind one port would not know them (field-case-112).
 */
export const refusedKeys: Readonly<Record<string, string>> = {
  workers:
    "a server is one process, since its sessions live in it; for more, start more servers under names of their own",
};

/** Keys that only mean something where the server runs here: somebody else's server has its own limits. */
export const ownKeys: readonly string[] = [
  "listen",
  "verifier_key",
  "public_url",
  "options",
  "tls",
  "drain_timeout",
  "max_message_bytes",
  "max_sessions",
  "max_concurrent_calls",
  "max_concurrent_episodes",
  "queue_timeout",
  "max_lifetime",
  "episode_timeout",
  "seed_timeout",
  "open_timeout",
  "activation_timeout",
  "verification_timeout",
  "cleanup_timeout",
  "records",
  "sandbox",
];
