import type { Limits } from "../../servers/index.js";
import type { ReferenceOptions } from "./world.js";

/** One launch of the reference server, with the file that tells the suite about it. */
export interface ReferenceVariant {
  /** One sentence: what it has. */
  readonly what: string;
  readonly world: ReferenceOptions;
  /** Bounds beside the usual ones. */
  readonly limits?: Partial<Limits>;
  /** What its controller shows (feature PRINCIPALS); the file's `headers` hold it. */
  readonly controllerToken?: string;
  /** Its conformance.yaml, in this folder. */
  readonly config: string;
}

/** Close waits this long for work that does not stop: short, so that what hangs can be judged. */
const closeGraceMs = 2_000;

/** The launches that show every feature of an environment that a counter can have. */
export const referenceVariants = {
  full: {
    what: "one agent, with every feature that needs no credential",
    world: { steps: true },
    limits: { closeGraceMs },
    config: "conformance.yaml",
  },
  core: {
    what: "Seed, Verify and Close alone; sessions end by their age",
    world: { steps: false },
    limits: { closeGraceMs, maxLifetimeMs: 8_000 },
    config: "conformance.core.yaml",
  },
  "multi-agent": {
    what: "two agents who take turns; arguments off a tool's schema are read by the world",
    world: { steps: true, agents: "turns", strictArguments: false },
    limits: { closeGraceMs },
    config: "conformance.multi-agent.yaml",
  },
  simultaneous: {
    what: "two agents who act at once where the task says so, for callers with a credential",
    world: { steps: true, agents: "together" },
    limits: { closeGraceMs },
    controllerToken: "reference-controller",
    config: "conformance.simultaneous.yaml",
  },
  principals: {
    what: "as full, for callers with a credential",
    world: { steps: true },
    limits: { closeGraceMs },
    controllerToken: "reference-controller",
    config: "conformance.principals.yaml",
  },
  capacity: {
    what: "as full, with places for few sessions and a short queue",
    world: { steps: true },
    limits: { closeGraceMs, maxSessions: 64, queueTimeoutMs: 1_000 },
    config: "conformance.capacity.yaml",
  },
} as const satisfies Readonly<Record<string, ReferenceVariant>>;

/** Name of a launch. */
export type VariantName = keyof typeof referenceVariants;

/** A launch by its name. Throws an Error that tells the names. */
export function variantOf(name: string): ReferenceVariant {
  const found = Object.entries(referenceVariants).find(([known]) => known === name);
  if (found === undefined) {
    const known = Object.keys(referenceVariants).join(", ");
    throw new Error(`expected one of the variants ${known}, found ${name}`);
  }
  return found[1];
}
