import type { DescMessage, Message } from "@bufbuild/protobuf";
import { type AdvanceResponse, AgentOutcomeSchema, AgentViewSchema } from "../../../gen/index.js";
import { type BlobReader, keyOf } from "../../runtime/blobs/blob-store.js";
import { refsIn } from "../../runtime/blobs/resolve-refs.js";
import type { EnvironmentContext } from "../environment-context.js";
import { answersOf } from "../environment-session.js";
import { stageKind } from "../stages/advance.js";
import type { AgentCaller } from "./agent-tokens.js";
import type { Caller } from "./caller.js";

/**
 * The blobs that a caller may read and refer to: an agent those that it was given references to, in its session, as long
 * as what gave them is kept; any other is unknown to it (R11, R15). What it was given is looked up when it asks, which is
 * seldom, rather than noted at every step.
 */
export function blobsOf<Data, State>(context: EnvironmentContext<Data, State>, caller: Caller): BlobReader {
  const { blobs } = context;
  if (caller === undefined) return blobs;
  let given: ReadonlySet<string> | undefined;
  return {
    otherwise: "an agent refers to what it was given references to, and sends everything else in place",
    get(ref) {
      given ??= new Set(
        givenTo(context, caller).flatMap(([schema, message]) =>
          refsIn(schema, message).map((r) => keyOf(r.ref)),
        ),
      );
      return given.has(keyOf(ref)) ? blobs.get(ref) : undefined;
    },
  };
}

/** What an agent was shown: its view of the session, of its current stage, and what came of the steps that are kept. */
function givenTo<Data, State>(
  { sessions }: EnvironmentContext<Data, State>,
  { sessionId, agentId }: AgentCaller,
): (readonly [DescMessage, Message])[] {
  const { world, stages } = sessions.known(sessionId).state ?? {};
  if (world === undefined) return [];
  const own = (message: { readonly agentId: string }): boolean => message.agentId === agentId;
  const stage = sessions.recorded(sessionId, { kind: stageKind, index: stages?.index ?? 0 })?.outcome;
  const staged = stage?.ok === true ? (stage.answer as AdvanceResponse).agents : [];
  const views = [...world.descriptor.agents, ...staged].filter(own);
  const outcomes = answersOf(world).flatMap((answer) => answer.outcomes.filter(own));
  return [
    ...views.map((view) => [AgentViewSchema, view] as const),
    ...outcomes.map((outcome) => [AgentOutcomeSchema, outcome] as const),
  ];
}
