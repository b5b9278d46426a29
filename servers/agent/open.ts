import { create } from "@bufbuild/protobuf";
import {
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
import type { AgentServiceOptions } from "./agent-service.js";
import { type AgentSession, Transcript } from "./agent-session.js";
import { enforced } from "./budget.js";
import { openModel } from "./model-peer.js";
import { openTools } from "./tool-peer.js";

/** What Open works with. */
export interface OpenContext<Options> extends AgentServiceOptions<Options> {
  readonly sessions: Sessions<AgentSession<Options>>;
}

/** Starts a session, or finds the operation that did. */
export function open<Options>(context: OpenContext<Options>, request: OpenRequest): Delivered<OpenResponse> {
  const { definition, sessions, dial } = context;
  const { context: episode } = request;
  if (episode === undefined) throw invalidField("context", "is required");
  let options: Options;
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
      if (request.sandbox !== undefined) {
        const description = "this agent runs nothing in a sandbox; open it without one";
        throw new Refusal("UNSATISFIED_REQUIREMENT", `sandbox: ${description}`, {
          violations: [{ field: "sandbox", description }],
        });
      }
      // Refused here where no dialect fits; nothing is connected yet.
      if (definition.needsModel) openModel(request.modelAccesses, dial);
      options = readOptions(context, request.optionsJson);
    },
    async make(_execution, facts) {
      const { peers, skipped } = await openTools(request.toolAccesses, dial);
      const model = definition.needsModel ? openModel(request.modelAccesses, dial) : undefined;
      const budget = enforced(request.budget, definition.maxBudget);
      const instructions =
        request.instructions === "" ? [] : [chatMessage(Role.SYSTEM, request.instructions)];
      return {
        state: {
          context: episode,
          agentId: request.agentId,
          options,
          budget,
          reference: request.reference,
          // AGT-OPEN-007: instructions, history, then what each activation says.
          conversation: [...instructions, ...request.history],
          transcript: new Transcript(),
          usage: create(UsageSchema, { modelTime: fromMs(0), toolTime: fromMs(0) }),
          tools: request.tools,
          model,
          toolPeers: peers,
          interrupt: undefined,
        },
        answer: create(OpenResponseSchema, {
          answerId: facts.answerId,
          context: episode,
          budget,
          skipped,
          ...(model === undefined ? {} : { dialect: model.dialect }),
          lease: facts.lease,
          timeout: fromMs(facts.timeoutMs),
        }),
      };
    },
  });
}

/** The session's options: Open's over the server's own. */
function readOptions<Options>({ definition, defaults }: OpenContext<Options>, optionsJson: string): Options {
  let own: unknown;
  try {
    own = optionsJson === "" ? {} : JSON.parse(optionsJson);
  } catch {
    throw invalidField("options_json", "expected the text of a JSON object, found text that is no JSON");
  }
  if (typeof own !== "object" || own === null || Array.isArray(own)) {
    throw invalidField("options_json", "expected the text of a JSON object, found another JSON value");
  }
  const parsed = definition.options.safeParse({ ...defaults, ...own });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalidField(
    `options_json.${issue?.path.join(".") ?? ""}`,
    issue?.message ?? "does not fit the schema",
  );
}
