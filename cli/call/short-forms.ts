import { randomBytes } from "node:crypto";
import { create, type DescMethod, isMessage, type Message } from "@bufbuild/protobuf";
import {
  ActionSchema,
  EpisodeContextSchema,
  EpisodeIdSchema,
  type SeedRequest,
  SeedRequestSchema,
  SessionVerificationSchema,
  type StepRequest,
  StepRequestSchema,
  SubmissionSchema,
  type Task,
  type VerifyRequest,
  VerifyRequestSchema,
} from "../../gen/index.js";
import { ConfigError } from "../../servers/composition/config-error.js";
import { assistantMessage } from "../../servers/runtime/items.js";

/** What a command line may say of a request in the place of its JSON. */
export interface ShortForms {
  readonly session?: string;
  readonly episode?: string;
  readonly agent?: string;
  readonly task?: string;
  readonly rowSchema?: string;
  readonly taskId?: string;
  readonly seed?: string;
  readonly tool?: string;
  readonly args?: string;
  readonly say?: string;
  readonly index?: number;
  readonly notFinal?: boolean;
}

/** What completing a request needs beside the command line. */
export interface Completion {
  readonly flags: ShortForms;
  /** Reads the task that `--task` names. */
  readonly readTask: (flags: ShortForms) => Promise<Task>;
  /** The number that a session's next verification has, which this request with a number that is too high asks for. */
  readonly nextVerification: (request: VerifyRequest) => Promise<number>;
  /** Tells people a name that was made up for them. */
  readonly note: (text: string) => void;
}

/** The agent of an environment that has one. */
const soleAgent = "agent";
/** A name that nobody has yet. */
function madeUpName(): string {
  return `call-${randomBytes(4).toString("hex")}`;
}

/** An index that no session comes to. */
const highestIndex = 0xffff_ffff;

/** Calls that begin a session: its name may be made up. */
const beginnings = new Set(["Seed", "Open"]);

/**
 * Puts what the command line says in short into a request, where the request's own JSON leaves it open. A flag that says
 * nothing to this method is refused, so that nobody relies on it. Throws ConfigError.
 */
export async function completeRequest(
  method: DescMethod,
  request: Message,
  completion: Completion,
): Promise<void> {
  const { flags } = completion;
  const used = new Set<keyof ShortForms>();
  const use = <K extends keyof ShortForms>(name: K): ShortForms[K] => {
    used.add(name);
    return flags[name];
  };
  fillNames(method, request, { ...completion, use });
  if (isMessage(request, SeedRequestSchema)) await fillSeed(request, completion, use);
  if (isMessage(request, StepRequestSchema)) fillStep(request, use);
  if (isMessage(request, VerifyRequestSchema)) await fillVerify(request, completion, use);
  const idle = (Object.keys(flags) as (keyof ShortForms)[]).filter(
    // A session may stand in the environment for all calls alike.
    (name) => flags[name] !== undefined && name !== "session" && !used.has(name),
  );
  if (idle.length > 0) {
    throw new ConfigError(
      idle.map((name) => `${optionOf(name)}: says nothing to ${method.name}; leave it out`),
    );
  }
}

type Use = <K extends keyof ShortForms>(name: K) => ShortForms[K];

function optionOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Fields of the same meaning in all requests. */
interface CommonFields {
  sessionId?: string;
  agentId?: string;
  episodeId?: Message;
  context?: Message;
}

function fillNames(
  method: DescMethod,
  request: Message,
  { use, note, flags }: Completion & { readonly use: Use },
): void {
  const fields = request as Message & CommonFields;
  const has = (name: keyof CommonFields): boolean => method.input.field[name] !== undefined;
  if (has("sessionId") && fields.sessionId === "") {
    const session = use("session");
    if (session !== undefined) fields.sessionId = session;
    else if (beginnings.has(method.name)) {
      fields.sessionId = madeUpName();
      note(`session: ${fields.sessionId}`);
    } else throw new ConfigError([`--session: is missing; name the session that ${method.name} is for`]);
  }
  if (has("agentId") && fields.agentId === "") fields.agentId = use("agent") ?? soleAgent;
  const episode = (): Message => {
    // A session that was begun here has its episode's name.
    const rolloutId = use("episode") ?? fields.sessionId ?? flags.session ?? madeUpEpisode(method, note);
    return create(EpisodeIdSchema, { rolloutId });
  };
  if (has("episodeId") && fields.episodeId === undefined) fields.episodeId = episode();
  if (has("context") && fields.context === undefined) {
    fields.context = create(EpisodeContextSchema, {});
    Object.assign(fields.context, { episodeId: episode() });
  }
}

function madeUpEpisode(method: DescMethod, note: (text: string) => void): string {
  if (method.name !== "Run") {
    throw new ConfigError([`--episode: is missing; name the episode that ${method.name} is for`]);
  }
  const episode = madeUpName();
  note(`episode: ${episode}`);
  return episode;
}

async function fillSeed(request: SeedRequest, { flags, readTask }: Completion, use: Use): Promise<void> {
  const seed = use("seed");
  if (seed !== undefined) {
    if (!/^\d{1,19}$/.test(seed)) throw new ConfigError([`--seed: expected a whole number, found "${seed}"`]);
    request.seed = BigInt(seed);
  }
  const [task, taskId] = [use("task"), use("taskId")];
  use("rowSchema");
  if (task !== undefined && taskId !== undefined)
    throw new ConfigError(["expected one of --task and --task-id"]);
  if (task !== undefined) request.source = { case: "task", value: await readTask(flags) };
  if (taskId !== undefined) {
    const [, taskset = "", id = ""] = /^(?:(.*)\/)?([^/]+)$/.exec(taskId) ?? [];
    const value = { $typeName: "touchstone.v1.TaskId" as const, taskset, id };
    request.source = { case: "taskId", value };
  }
}

function fillStep(request: StepRequest, use: Use): void {
  const [tool, args, say, index] = [use("tool"), use("args"), use("say"), use("index")];
  const agentId = use("agent") ?? soleAgent;
  if (args !== undefined && tool === undefined) throw new ConfigError(["--args: belong to a --tool"]);
  if (tool !== undefined && say !== undefined) throw new ConfigError(["expected one of --tool and --say"]);
  if (tool !== undefined) {
    const value = { callId: madeUpName(), name: tool, argumentsJson: jsonOf(args ?? "{}") };
    request.actions = [create(ActionSchema, { agentId, kind: { case: "toolCall", value } })];
  }
  if (say !== undefined) {
    const value = { items: [assistantMessage(say)] };
    request.actions = [create(ActionSchema, { agentId, kind: { case: "items", value } })];
  }
  if (index !== undefined) request.name = { case: "stepIndex", value: index };
  // Without an index of its own the server numbers it.
  else if (request.name.case === undefined) {
    request.name = { case: "actionId", value: madeUpName() };
  }
}

function jsonOf(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new ConfigError([`--args: expected JSON, found ${JSON.stringify(text)}`]);
  }
}

async function fillVerify(request: VerifyRequest, { nextVerification }: Completion, use: Use): Promise<void> {
  const [index, notFinal, say, session] = [use("index"), use("notFinal"), use("say"), use("session")];
  const agentId = use("agent") ?? soleAgent;
  if (say !== undefined) {
    request.submission = create(SubmissionSchema, { agents: [{ agentId, items: [assistantMessage(say)] }] });
  }
  if (request.target.case === "stateless") return;
  if (session === undefined && request.target.case === undefined) {
    throw new ConfigError(["--session: is missing; name the session that Verify is for"]);
  }
  if (request.target.case === undefined) {
    const value = { sessionId: session ?? "", final: notFinal !== true };
    const of = (verificationIndex: number): VerifyRequest => {
      const target = create(SessionVerificationSchema, { ...value, verificationIndex });
      return { ...request, target: { case: "session", value: target } };
    };
    request.target = of(index ?? (await nextVerification(of(highestIndex)))).target;
  }
}
