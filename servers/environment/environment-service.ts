import { create } from "@bufbuild/protobuf";
import {
  EnvironmentService,
  EnvironmentServiceCloseRequestSchema,
  EnvironmentServiceCloseResponseSchema,
  EnvironmentServiceKeepAliveRequestSchema,
  EnvironmentServiceKeepAliveResponseSchema,
  ListToolsRequestSchema,
  ListToolsResponseSchema,
  SeedRequestSchema,
  Stage,
  VerifyRequestSchema,
  type VerifyResponse,
  VerifyResponseSchema,
} from "../../gen/index.js";
import { followEvents } from "../runtime/follow.js";
import { invalidField, unsupported } from "../runtime/refusal.js";
import type { Runtime } from "../runtime/runtime.js";
import type { HeldService } from "../runtime/server.js";
import { route, tellDelivery, toStatus } from "../runtime/service.js";
import { Sessions } from "../runtime/sessions.js";
import { validate, warmUp } from "../runtime/validate.js";
import { describeEnvironment } from "./declarations.js";
import type { EnvironmentDefinition } from "./define-environment.js";
import { type EnvironmentSession, soleAgent, worldOf } from "./environment-session.js";
import { seed } from "./seed.js";
import { step } from "./step.js";
import { stepStream } from "./step-stream.js";
import { verify } from "./verify.js";

const heartbeat = () => create(VerifyResponseSchema, { event: { case: "heartbeat", value: {} } });

/** EnvironmentService over an environment: the author's functions inside, the rules of the contract around them. */
export function environmentService<Data, State>(
  definition: EnvironmentDefinition<Data, State>,
  runtime: Runtime,
): HeldService {
  const sessions = new Sessions<EnvironmentSession<Data, State>>({
    runtime,
    what: "session",
    stage: Stage.SEED,
    async release(_session, state) {
      if (state.world !== undefined) await definition.close?.(state.world.state);
      state.world = undefined;
      state.submitted = undefined;
      return [];
    },
  });
  const context = { runtime, definition, sessions };
  const description = describeEnvironment(runtime, definition);
  warmUp([SeedRequestSchema, VerifyRequestSchema]);

  const hasSteps = definition.step !== undefined || definition.tools !== undefined;
  const routed = route(runtime, EnvironmentService, {
    describe() {
      if (description.service !== undefined) description.service.draining = runtime.draining;
      return description;
    },
    async seed(request, call) {
      validate(SeedRequestSchema, request);
      const { operation, delivery } = seed(context, request);
      tellDelivery(call, delivery);
      return await operation.answer(call);
    },
    async *verify(request, call) {
      validate(VerifyRequestSchema, request);
      const { operation, delivery } = verify(context, request);
      tellDelivery(call, delivery);
      yield* followEvents<VerifyResponse>(operation, {
        runtime,
        call,
        afterSequence: request.afterSequence,
        heartbeat,
      });
    },
    async close(request) {
      validate(EnvironmentServiceCloseRequestSchema, request);
      const { session, receipt } = await sessions.close(request.sessionId, request.episodeId);
      return create(EnvironmentServiceCloseResponseSchema, {
        receipt,
        steps: session.begun("step"),
        verifications: session.begun("verification"),
        usage: {},
        taskDigest: session.state?.taskDigest ?? "",
      });
    },
    keepAlive(request) {
      validate(EnvironmentServiceKeepAliveRequestSchema, request);
      return create(EnvironmentServiceKeepAliveResponseSchema, {
        lease: sessions.keepAlive(request.sessionId),
      });
    },
    ...(hasSteps
      ? {
          async step(request, call) {
            const { operation, delivery } = step(context, request);
            tellDelivery(call, delivery);
            return await operation.answer();
          },
          stepStream: (requests) =>
            stepStream(requests, {
              clock: runtime.clock,
              batch: false,
              perform: async ({ operation }) => {
                if (operation.case !== "step") throw unsupported("STEP_BATCH", "a frame without a step");
                return { case: "step", value: await step(context, operation.value).operation.answer() };
              },
              toStatus: (error) => toStatus(runtime, EnvironmentService.method.stepStream, error),
            }),
        }
      : {}),
    ...(definition.tools === undefined
      ? {}
      : {
          listTools(request) {
            validate(ListToolsRequestSchema, request);
            if (request.agentId !== soleAgent) {
              throw invalidField(
                "agent_id",
                `there is no agent "${request.agentId}"; there is "${soleAgent}"`,
              );
            }
            const { state } = sessions.open(request.sessionId);
            return create(ListToolsResponseSchema, {
              tools: worldOf(state).descriptor.agents[0]?.tools ?? [],
            });
          },
        }),
  });
  return { routes: [routed], live: () => sessions.live, drain: () => sessions.drain() };
}
