import { create } from "@bufbuild/protobuf";
import {
  AdvanceRequestSchema,
  EnvironmentService,
  EnvironmentServiceKeepAliveRequestSchema,
  EnvironmentServiceKeepAliveResponseSchema,
  ForkRequestSchema,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  ListToolsRequestSchema,
  SeedRequestSchema,
  Stage,
  VerifyRequestSchema,
  type VerifyResponse,
  VerifyResponseSchema,
  WatchStepsRequestSchema,
} from "../../gen/index.js";
import { answerLimit } from "../runtime/answer-limit.js";
import { blobService } from "../runtime/blobs/blob-service.js";
import { createBlobStore } from "../runtime/blobs/blob-store.js";
import { followEvents } from "../runtime/follow.js";
import type { HeldService } from "../runtime/held-service.js";
import { routeShared, tellDelivery, toStatus } from "../runtime/route.js";
import type { Runtime } from "../runtime/runtime.js";
import { Sessions } from "../runtime/sessions.js";
import { validate, warmUp } from "../runtime/validate.js";
import { closeSession } from "./close-session.js";
import { describeEnvironment } from "./declarations.js";
import type { EnvironmentDefinition } from "./define-environment.js";
import type { EnvironmentContext } from "./environment-context.js";
import type { EnvironmentSession } from "./environment-session.js";
import { fork } from "./fork/fork.js";
import { listTools } from "./list-tools.js";
import { aggregateMetrics } from "./metrics/aggregate-metrics.js";
import { prepareEnvironment } from "./prepared-environment.js";
import { answerFor } from "./principals/agent-answer.js";
import { blobsOf } from "./principals/agent-blobs.js";
import { AgentTokens } from "./principals/agent-tokens.js";
import { callerOf, checkOwn, checkOwnStep } from "./principals/caller.js";
import { seed } from "./seed/seed.js";
import { advance } from "./stages/advance.js";
import { step } from "./step/step.js";
import { performer } from "./stream/perform.js";
import { stepStream } from "./stream/step-stream.js";
import { getTask, listTasks } from "./tasks/list-tasks.js";
import { pageTokens } from "./tasks/page-token.js";
import { taskCatalogue } from "./tasks/task-catalogue.js";
import { statelessVerifications } from "./verify/stateless-verify.js";
import { verify } from "./verify/verify.js";
import { watchSteps } from "./watch/watch-steps.js";

const heartbeat = () => create(VerifyResponseSchema, { event: { case: "heartbeat", value: {} } });

/** EnvironmentService over an environment: the author's functions inside, the rules of the contract around them. */
export function environmentService<Data, State>(
  definition: EnvironmentDefinition<Data, State>,
  runtime: Runtime,
): HeldService {
  const prepared = prepareEnvironment(definition, runtime.limits.timeout);
  const tokens = new AgentTokens(runtime.principals !== undefined);
  const sessions = createSessions({ definition, runtime, tokens });
  const blobs = createBlobStore({
    clock: runtime.clock,
    retentionMs: runtime.limits.retentionMs,
    maxBytes: runtime.limits.heldBlobBytes,
  });
  const catalogue =
    definition.splits === undefined ? undefined : taskCatalogue(definition.name, definition.splits);
  const context: EnvironmentContext<Data, State> = {
    runtime,
    definition,
    prepared,
    sessions,
    catalogue,
    blobs,
    tokens,
  };
  const pages = pageTokens();
  const stateless = definition.stateless === true ? statelessVerifications(context) : undefined;
  const description = describeEnvironment(context);
  const rewardVisible = definition.reward.visible ?? false;
  warmUp([SeedRequestSchema, VerifyRequestSchema]);

  // ALL-PRIN-003
  const access = {
    shared: ["listTools", "step", "stepStream"],
    knows: (token: string) => tokens.find(token) !== undefined,
  };
  const routed = routeShared({ runtime, access }, EnvironmentService, {
    describe() {
      if (description.service !== undefined) description.service.draining = runtime.draining;
      return description;
    },
    async seed(request, call) {
      validate(SeedRequestSchema, request);
      const { operation, delivery } = seed(context, request, answerLimit(runtime.limits, call));
      tellDelivery(call, delivery);
      return await operation.answer(call);
    },
    async *verify(request, call) {
      validate(VerifyRequestSchema, request);
      const { operation, delivery } = verify(context, request, {
        stateless,
        maxBytes: answerLimit(runtime.limits, call),
      });
      tellDelivery(call, delivery);
      yield* followEvents<VerifyResponse>(operation, {
        runtime,
        call,
        afterSequence: request.afterSequence,
        heartbeat,
      });
    },
    close: (request) => closeSession(context, request),
    keepAlive(request) {
      validate(EnvironmentServiceKeepAliveRequestSchema, request);
      return create(EnvironmentServiceKeepAliveResponseSchema, {
        lease: sessions.keepAlive(request.sessionId),
      });
    },
    ...(prepared.hasSteps
      ? {
          async step(request, call) {
            const caller = callerOf(context, call)();
            checkOwnStep(caller, request);
            const maxBytes = answerLimit(runtime.limits, call);
            const { operation, delivery } = step(context, request, { caller, maxBytes });
            tellDelivery(call, delivery);
            return await answerFor(caller, operation, { rewardVisible, waiting: call });
          },
          stepStream: (requests, call) =>
            stepStream(requests, {
              clock: runtime.clock,
              maxBytes: answerLimit(runtime.limits, call),
              perform: performer(context, call),
              toStatus: (error) => toStatus(runtime, EnvironmentService.method.stepStream, error),
            }),
          watchSteps(request, call) {
            validate(WatchStepsRequestSchema, request);
            return watchSteps(context, request, call);
          },
        }
      : {}),
    ...(definition.tools === undefined
      ? {}
      : {
          listTools(request, call) {
            const caller = callerOf(context, call)();
            validate(ListToolsRequestSchema, request);
            checkOwn(caller, request.sessionId, [request.agentId]);
            return listTools(context, request);
          },
        }),
    aggregateMetrics: (requests) => aggregateMetrics(requests),
    ...(catalogue === undefined
      ? {}
      : {
          listTasks(request, call) {
            validate(ListTasksRequestSchema, request);
            const maxBytes = answerLimit(runtime.limits, call);
            return listTasks({ catalogue, tokens: pages, maxBytes }, request);
          },
          getTask(request) {
            validate(GetTaskRequestSchema, request);
            return getTask(catalogue, request);
          },
        }),
    ...(definition.advance === undefined
      ? {}
      : {
          async advance(request, call) {
            validate(AdvanceRequestSchema, request);
            const { operation, delivery } = advance(context, request, answerLimit(runtime.limits, call));
            tellDelivery(call, delivery);
            return await operation.answer(call);
          },
        }),
    ...(definition.fork === undefined
      ? {}
      : {
          async fork(request, call) {
            validate(ForkRequestSchema, request);
            const { operation, delivery } = fork(context, request, answerLimit(runtime.limits, call));
            tellDelivery(call, delivery);
            return await operation.answer(call);
          },
        }),
  });
  return {
    routes: [
      routed,
      blobService(runtime, blobs, {
        knows: access.knows,
        of: (call) => blobsOf(context, callerOf(context, call)()),
      }),
    ],
    live: () => sessions.live + (stateless?.live ?? 0),
    drain: async () => void (await Promise.all([sessions.drain(), stateless?.drain()])),
  };
}

/** The sessions of an environment; one that has ended takes with it whatever followed it, acted in it, or was made for it. */
function createSessions<Data, State>({
  definition,
  runtime,
  tokens,
}: Pick<EnvironmentContext<Data, State>, "definition" | "runtime" | "tokens">): Sessions<
  EnvironmentSession<Data, State>
> {
  return new Sessions<EnvironmentSession<Data, State>>({
    runtime,
    what: "session",
    stage: Stage.SEED,
    async release(_session, state) {
      const { world } = state;
      if (world !== undefined) {
        world.feed.close();
        tokens.revoke(world.descriptor);
        await definition.close?.(world.state);
      }
      state.world = undefined;
      state.submitted = undefined;
      return [];
    },
  });
}
