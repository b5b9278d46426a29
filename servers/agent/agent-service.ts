import { create } from "@bufbuild/protobuf";
import { z } from "zod";
import {
  ActivateRequestSchema,
  type ActivateResponse,
  ActivateResponseSchema,
  AgentSessionService,
  AgentSessionServiceCloseRequestSchema,
  AgentSessionServiceCloseResponseSchema,
  AgentSessionServiceDescribeResponseSchema,
  AgentSessionServiceKeepAliveRequestSchema,
  AgentSessionServiceKeepAliveResponseSchema,
  Feature,
  GapSchema,
  InterruptRequestSchema,
  InterruptResponseSchema,
  OpenRequestSchema,
  ReadTranscriptRequestSchema,
  Stage,
  UsageSchema,
} from "../../gen/index.js";
import { serviceInfo } from "../runtime/describe.js";
import type { Dial } from "../runtime/dial.js";
import { followEvents } from "../runtime/follow.js";
import { Refusal } from "../runtime/refusal.js";
import type { Runtime } from "../runtime/runtime.js";
import type { HeldService } from "../runtime/server.js";
import { route, tellDelivery } from "../runtime/service.js";
import { Sessions } from "../runtime/sessions.js";
import { validate, warmUp } from "../runtime/validate.js";
import { activate } from "./activate.js";
import type { AgentSession } from "./agent-session.js";
import type { AgentDefinition } from "./define-agent.js";
import { spokenDialects } from "./model-peer.js";
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
  const { definition, runtime } = options;
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
  const description = describe(definition, runtime);
  warmUp([OpenRequestSchema, ActivateRequestSchema]);

  const routed = route(runtime, AgentSessionService, {
    describe() {
      if (description.service !== undefined) description.service.draining = runtime.draining;
      return description;
    },
    async open(request, call) {
      validate(OpenRequestSchema, request);
      const { operation, delivery } = open(context, request);
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
      const session = sessions.open(request.sessionId);
      if (request.activationIndex >= session.begun("activation")) {
        const expected = session.begun("activation");
        throw new Refusal("OUT_OF_ORDER", `activation ${request.activationIndex} was never begun`, {
          metadata: { expected_index: String(expected) },
        });
      }
      const operation = sessions.recorded(request.sessionId, `activate:${request.activationIndex}`);
      if (operation === undefined || operation.state !== "running") {
        return create(InterruptResponseSchema, { alreadyEnded: true });
      }
      session.state.interrupt?.();
      await operation.settled();
      return create(InterruptResponseSchema, { alreadyEnded: false });
    },
    async *readTranscript(request) {
      validate(ReadTranscriptRequestSchema, request);
      const { state } = sessions.known(request.sessionId);
      yield* state?.transcript.records.slice(Number(request.afterSequence)) ?? [];
    },
    async close(request) {
      validate(AgentSessionServiceCloseRequestSchema, request);
      const { session, receipt } = await sessions.close(request.sessionId, request.episodeId);
      return create(AgentSessionServiceCloseResponseSchema, {
        receipt,
        activations: session.begun("activation"),
        usage: session.state?.usage ?? create(UsageSchema),
        transcriptRecords: BigInt(session.state?.transcript.records.length ?? 0),
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

function describe<Options>(definition: AgentDefinition<Options>, runtime: Runtime) {
  return create(AgentSessionServiceDescribeResponseSchema, {
    service: serviceInfo(runtime, {
      name: definition.name,
      version: definition.version,
      features: [
        Feature.CONTINUATION,
        Feature.INTERRUPT,
        Feature.TOOLS_BY_STEP,
        ...(definition.takesReference === true ? [Feature.REFERENCE] : []),
      ],
    }),
    harness: { name: definition.name, version: definition.version },
    modelDialects: definition.needsModel ? spokenDialects : [],
    optionsSchemaJson: JSON.stringify(z.toJSONSchema(definition.options, { io: "input" })),
    ...(definition.maxBudget === undefined ? {} : { maxBudget: definition.maxBudget }),
  });
}
