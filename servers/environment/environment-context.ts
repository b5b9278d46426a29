import type { BlobStore } from "../runtime/blobs/blob-store.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Sessions } from "../runtime/sessions.js";
import type { EnvironmentDefinition } from "./define-environment.js";
import type { EnvironmentSession } from "./environment-session.js";
import type { PreparedEnvironment } from "./prepared-environment.js";
import type { AgentTokens } from "./principals/agent-tokens.js";
import type { TaskCatalogue } from "./tasks/task-catalogue.js";

/** What every operation of an environment server works with. */
export interface EnvironmentContext<Data, State> {
  readonly runtime: Runtime;
  readonly definition: EnvironmentDefinition<Data, State>;
  /** What follows from the definition, made once. */
  readonly prepared: PreparedEnvironment<State>;
  readonly sessions: Sessions<EnvironmentSession<Data, State>>;
  /** The tasks that it lists itself; undefined: none (feature TASK_LISTING). */
  readonly catalogue: TaskCatalogue | undefined;
  /** Bytes that its callers put here (feature BLOBS). */
  readonly blobs: BlobStore;
  /** Of the agents of its sessions; none where the server knows no principals. */
  readonly tokens: AgentTokens;
}
