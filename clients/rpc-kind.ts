import type { DescMethod, DescService } from "@bufbuild/protobuf";
import {
  AgentSessionService,
  BlobService,
  EnvironmentService,
  EpisodeService,
  ModelService,
  SandboxService,
} from "../gen/index.js";

/**
 * What a repeat of a call means (R2).
 *
 * - `operation`: work that is done once per name; a repeat joins it or replays its answer.
 * - `idempotent`: done again, same end state.
 * - `call`: a second call is a second effect.
 * - `read`: changes nothing.
 */
export type RpcKind = "operation" | "idempotent" | "call" | "read";

type Kinds<S extends DescService> = Readonly<Record<keyof S["method"], RpcKind>>;

const ENVIRONMENT: Kinds<typeof EnvironmentService> = {
  describe: "read",
  seed: "operation",
  verify: "operation",
  close: "idempotent",
  keepAlive: "idempotent",
  step: "operation",
  // Each operation in a frame is of its own kind, and all of those are named.
  stepStream: "operation",
  listTools: "read",
  advance: "operation",
  fork: "operation",
  watchSteps: "read",
  listTasks: "read",
  getTask: "read",
  aggregateMetrics: "read",
};

const AGENT_SESSION: Kinds<typeof AgentSessionService> = {
  describe: "read",
  open: "operation",
  activate: "operation",
  interrupt: "idempotent",
  readTranscript: "read",
  close: "idempotent",
  keepAlive: "idempotent",
};

const MODEL: Kinds<typeof ModelService> = {
  describe: "read",
  generate: "call",
  streamGenerate: "call",
  countTokens: "read",
  openGateway: "operation",
  readCapture: "read",
  keepAlive: "idempotent",
  closeGateway: "idempotent",
};

const SANDBOX: Kinds<typeof SandboxService> = {
  describe: "read",
  createSandbox: "operation",
  getSandbox: "read",
  listSandboxes: "read",
  keepAlive: "idempotent",
  destroySandbox: "idempotent",
  exec: "operation",
  attachExec: "read",
  writeStdin: "call",
  resizeTty: "idempotent",
  signalExec: "call",
  readFile: "read",
  writeFile: "idempotent",
  statPath: "read",
  listDirectory: "read",
  makeDirectory: "idempotent",
  removePath: "idempotent",
  movePath: "call",
  uploadArchive: "idempotent",
  downloadArchive: "read",
  createSnapshot: "operation",
  deleteSnapshot: "idempotent",
  pause: "idempotent",
  resume: "idempotent",
  grant: "operation",
  revoke: "idempotent",
  tunnel: "call",
};

const BLOB: Kinds<typeof BlobService> = {
  putBlob: "idempotent",
  getBlob: "read",
};

const EPISODE: Kinds<typeof EpisodeService> = {
  describe: "read",
  run: "operation",
  attach: "read",
  stop: "idempotent",
  readTrajectory: "read",
  ack: "idempotent",
  aggregateMetrics: "read",
};

const KINDS: ReadonlyMap<string, Readonly<Record<string, RpcKind>>> = new Map<
  string,
  Readonly<Record<string, RpcKind>>
>([
  [EnvironmentService.typeName, ENVIRONMENT],
  [AgentSessionService.typeName, AGENT_SESSION],
  [ModelService.typeName, MODEL],
  [SandboxService.typeName, SANDBOX],
  [BlobService.typeName, BLOB],
  [EpisodeService.typeName, EPISODE],
]);

/** The kind of an rpc. One that the contract does not know is a `call`, the kind that is never repeated blindly. */
export function rpcKind(method: DescMethod): RpcKind {
  return KINDS.get(method.parent.typeName)?.[method.localName] ?? "call";
}
