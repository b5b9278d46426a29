import { create } from "@bufbuild/protobuf";
import {
  BudgetSchema,
  type OpenRequest,
  OpenRequestSchema,
  type OpenResponse,
  OpenResponseSchema,
  Role,
  UsageSchema,
} from "../../gen/index.js";
import { fromMs } from "../runtime/duration.js";
import { fingerprint } from "../runtime/fingerprint.js";
import { chatMessage } from "../runtime/items.js";
import type { Delivered } from "../runtime/ledger.js";
import { invalidField, Refusal, unsupported } from "../runtime/refusal.js";
import type { Sessions } from "../runtime/sessions.js";
import { tighterBudget } from "../runtime/tighter-budget.js";
import type { AgentServiceOptions } from "./agent-service.js";
import { type AgentSession, Transcript } from "./agent-session.js";
import { type ModelPeer, openModel } from "./model-peer.js";
import { openTools } from "./open-tools.js";
import { readOptions } from "./read-options.js";

/** What Open works with. */
export interface OpenContext<Options> extends AgentServiceOptions<Options> {
  readonly sessions: Sessions<AgentSession<Options>>;
}

/** Starts a session, or finds the operation that did. `key`: the episode's, as the caller's metadata has it. */
export function open<Options>(
  context: OpenContext<Options>,
  request: OpenRequest,
  key: string | undefined,
): Delivered<OpenResponse> {
  const { definition, sessions, dial } = context;
  const { context: episode } = request;
  if (episode?.episodeId === undefined) throw invalidField("context.episode_id", "is required");
  const peers = { dial, key: key ?? episode.episodeId.rolloutId };
  let checked: { readonly options: Options; readonly model: ModelPeer | undefined };
  return sessions.create<OpenResponse>({
    id: request.sessionId,
    context: episode,
    kind: "Open",
    fingerprint: fingerprint(OpenRequestSchema, request),
    lease: request.lease,
    timeout: request.timeout,
    check() {
      if (request.reference !== undefined && definition.takesReference !== true) {
        throw unsupported("REFERENCE", "Open with a reference");
      }
      if (request.sandbox !== undefined) throw needlessSandbox();
      checked = {
        options: readOptions(context, request.optionsJson),
        model: definition.needsModel ? openModel(request.modelAccesses, peers) : undefined,
      };
    },
    async make(execution, facts) {
      const { options, model } = checked;
      const tools = await openTools(request.toolAccesses, peers, execution.signal);
      const maxBudget = create(BudgetSchema, definition.maxBudget?.(options) ?? {});
      const budget = tighterBudget(request.budget, maxBudget);
      const instructions =
        request.instructions === "" ? [] : [chatMessage(Role.SYSTEM, request.instructions)];
      return {
        state: {
          context: episode,
          agentId: request.agentId,
          options,
          budget,
          maxBudget,
          reference: request.reference,
          // AGT-OPEN-007: instructions, history, then what each activation says.
          conversation: [...instructions, ...request.history],
          transcript: new Transcript(),
          usage: create(UsageSchema, { modelTime: fromMs(0), toolTime: fromMs(0) }),
          tools: request.tools,
          model,
          toolPeers: tools.peers,
          interrupt: undefined,
        },
        answer: create(OpenResponseSchema, {
          answerId: facts.answerId,
          context: episode,
          // AGT-OPEN-001
          budget,
          skipped: tools.skipped,
          ...(model === undefined ? {} : { dialect: model.dialect }),
          lease: facts.lease,
          timeout: fromMs(facts.timeoutMs),
        }),
      };
    },
  });
}

function needlessSandbox(): Refusal {
  const description = "this agent runs nothing in a sandbox; open it without one";
  return new Refusal("UNSATISFIED_REQUIREMENT", `sandbox: ${description}`, {
    violations: [{ field: "sandbox", description }],
  });
}
