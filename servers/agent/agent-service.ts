import { clone, create } from "@bufbuild/protobuf";
import { keyHeader } from "../../clients/metadata.js";
import {
  ActivateRequestSchema,
  type ActivateResponse,
  ActivateResponseSchema,
  AgentSessionService,
  AgentSessionServiceCloseRequestSchema,
  AgentSessionServiceCloseResponseSchema,
  AgentSessionServiceKeepAliveRequestSchema,
  AgentSessionServiceKeepAliveResponseSchema,
  GapSchema,
  InterruptRequestSchema,
  InterruptResponseSchema,
  OpenRequestSchema,
  ReadTranscriptRequestSchema,
  Stage,
  UsageSchema,
} from "../../gen/index.js";
import type { Dial } from "../runtime/dial.js";
import { followEvents } from "../runtime/follow.js";
import type { HeldService } from "../runtime/held-service.js";
import { route, tellDelivery } from "../runtime/route.js";
import type { Runtime } from "../runtime/runtime.js";
import { Sessions } from "../runtime/sessions.js";
import { validate, warmUp } from "../runtime/validate.js";
import { activate } from "./activate.js";
import type { AgentSession } from "./agent-session.js";
import type { AgentDefinition } from "./define-agent.js";
import { describeAgent } from "./describe-agent.js";
import { interrupt } from "./interrupt.js";
import { open } from "./open.js";

const heartbeat = () => create(ActivateResponseSchema, { event: { case: "heartbeat", value: {} } });
const gap = (untilSequence: bigint) =>
  create(ActivateResponseSchema, { event: { case: "gap", value: create(GapSchema, { untilSequence }) } });

/** What an agent service is made of. */
export interface AgentServiceOptions<Options> {
  readonly definition: AgentDefinition<Options>;
  readonly runtime: Runtime;
  /** Reaches tools and models. */
  readonly dial: Dial;
  /** Options that hold where Open gives none of its own. */
  readonly defaults?: Readonly<Record<string, unknown>>;
}

/** AgentSessionService over a harness. */
export function agentService<Options>(options: AgentServiceOptions<Options>): HeldService {
  const { runtime } = options;
  const sessions = new Sessions<AgentSession<Options>>({
    runtime,
    what: "session",
    stage: Stage.OPEN,
    async release(_session, state) {
      state.model = undefined;
      state.toolPeers = [];
      return [];
    },
  });
  const context = { ...options, sessions };
  // Options of the server that do not fit its harness are told at start, not at the first call.
  describeAgent(options);
  warmUp([OpenRequestSchema, ActivateRequestSchema]);

  const routed = route(runtime, AgentSessionService, {
    describe: () => describeAgent(options),
    async open(request, call) {
      validate(OpenRequestSchema, request);
      const key = call.requestHeader.get(keyHeader) ?? undefined;
      const { operation, delivery } = open(context, request, key);
      tellDelivery(call, delivery);
      return await operation.answer(call);
    },
    async *activate(request, call) {
      validate(ActivateRequestSchema, request);
      const { operation, delivery } = activate(context, request);
      tellDelivery(call, delivery);
      yield* followEvents<ActivateResponse>(operation, {
        runtime,
        call,
        afterSequence: request.afterSequence,
        heartbeat,
        gap,
      });
    },
    async interrupt(request) {
      validate(InterruptRequestSchema, request);
      const alreadyEnded = await interrupt(sessions, request);
      return create(InterruptResponseSchema, { alreadyEnded });
    },
    async *readTranscript(request) {
      validate(ReadTranscriptRequestSchema, request);
      const session = sessions.known(request.sessionId);
      // ALL-LEASE-006
      if (session.end === undefined) sessions.touch(session);
      yield* session.state?.transcript.after(request.afterSequence) ?? [];
    },
    async close(request) {
      validate(AgentSessionServiceCloseRequestSchema, request);
      const { session, receipt } = await sessions.close(request.sessionId, request.episodeId);
      return create(AgentSessionServiceCloseResponseSchema, {
        receipt,
        activations: session.begun("activation"),
        usage: clone(UsageSchema, session.state?.usage ?? create(UsageSchema)),
        transcriptRecords: BigInt(session.state?.transcript.length ?? 0),
      });
    },
    keepAlive(request) {
      validate(AgentSessionServiceKeepAliveRequestSchema, request);
      return create(AgentSessionServiceKeepAliveResponseSchema, {
        lease: sessions.keepAlive(request.sessionId),
      });
    },
  });
  return { routes: [routed], live: () => sessions.live, drain: () => sessions.drain() };
}
