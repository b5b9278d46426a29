import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Action,
  EnvironmentService,
  type EnvironmentServiceCloseResponse,
  type EnvironmentServiceDescribeResponse,
  type EpisodeContext,
  EpisodeContextSchema,
  EpisodeIdSchema,
  type Feature,
  type SampleWork,
  type SeedRequest,
  SeedRequestSchema,
  type SeedResponse,
  type SessionDescriptor,
  type StepResponse,
  type Submission,
  type VerifyRequestSchema,
  type VerifyResponse,
  type VerifyResult,
} from "../../../gen/index.js";
import { checksOf } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import type { EnvironmentFixture } from "../../fixture/environment-fixture.js";
import type { Connection } from "../../subject/connection.js";
import type { Reply, StreamReply } from "../../subject/reply.js";
import type { CallOptions, SubjectClient } from "../../subject/subject-client.js";
import { duration } from "../shared/durations.js";

/** Calls of an environment. */
export type EnvironmentCalls = SubjectClient<typeof EnvironmentService>;

/** What the checks of an environment work with. */
export interface EnvironmentTrial extends Trial {
  /** What is known of the world. */
  readonly fixture: EnvironmentFixture;
  /** Its answer to Describe, asked once before the checks. */
  readonly described: EnvironmentServiceDescribeResponse;
  /** Calls over the check's first connection. */
  readonly calls: EnvironmentCalls;
  /** Calls over a connection of their own. */
  elsewhere(): EnvironmentCalls;
  /** The subject declares it. */
  has(feature: Feature): boolean;
  /** The context of an episode of its own. */
  context(init?: MessageInitShape<typeof EpisodeContextSchema>): EpisodeContext;
  /** The context of this episode. */
  contextOf(episodeId: MessageInitShape<typeof EpisodeIdSchema>): EpisodeContext;
  /** A Seed of the fixture's sample under a new id. */
  seedRequest(init?: MessageInitShape<typeof SeedRequestSchema>): SeedRequest;
  /** Opens a session; a Seed that is not answered is a finding. */
  open(init?: MessageInitShape<typeof SeedRequestSchema>): Promise<OpenSession>;
  /** The same session, seen over other calls. */
  through(session: OpenSession, calls: EnvironmentCalls): OpenSession;
  /** The terminal event of a verification. */
  result(what: string, reply: StreamReply<VerifyResponse>): VerifyResult;
}

/** How a verification is asked for. */
export interface VerifyInit {
  readonly final?: boolean;
  readonly submission?: Submission | undefined;
  readonly timeoutMs?: number;
  readonly verifierState?: Uint8Array;
  readonly afterSequence?: bigint;
}

/** A session that a check has opened. It is closed when the check ends, whatever happened. */
export interface OpenSession {
  readonly id: string;
  readonly request: SeedRequest;
  readonly seeded: SeedResponse;
  readonly descriptor: SessionDescriptor;
  /** A step by its number. */
  step(index: number, actions: readonly Action[], options?: CallOptions): Promise<Reply<StepResponse>>;
  /** Takes the steps of a piece of work from number `from` on, each of which must be answered. */
  play(work: SampleWork | undefined, from?: number): Promise<StepResponse[]>;
  /** A verification, read to its end. */
  verify(index: number, init?: VerifyInit, options?: CallOptions): Promise<StreamReply<VerifyResponse>>;
  /** The request of a verification. */
  verifyRequest(index: number, init?: VerifyInit): MessageInitShape<typeof VerifyRequestSchema>;
  close(options?: CallOptions): Promise<Reply<EnvironmentServiceCloseResponse>>;
}

/** Defines a check of the environment profile. */
export const environmentCheck = checksOf<EnvironmentTrial>("environment");

/** Adds to a trial what environments have. */
export function environmentTrial(
  trial: Trial,
  given: { fixture: EnvironmentFixture; described: EnvironmentServiceDescribeResponse },
): EnvironmentTrial {
  const { fixture, described } = given;
  const { judge } = trial;
  let first: Connection | undefined;
  const features = new Set(described.service?.features);
  const made: EnvironmentTrial = {
    ...trial,
    fixture,
    described,
    get calls() {
      first ??= trial.connect();
      return first.client(EnvironmentService);
    },
    elsewhere: () => trial.connect().client(EnvironmentService),
    has: (feature) => features.has(feature),
    context(init = {}) {
      const made = create(EpisodeContextSchema, init);
      made.episodeId = create(EpisodeIdSchema, { rolloutId: trial.id("rollout") });
      return made;
    },
    contextOf: (episodeId) => create(EpisodeContextSchema, { episodeId: create(EpisodeIdSchema, episodeId) }),
    seedRequest: (init = {}) =>
      create(SeedRequestSchema, {
        sessionId: trial.id("session"),
        context: made.context(),
        source: { case: "task", value: trial.must(fixture.sample.task, "environment.sample.task") },
        seed: fixture.seed,
        ...init,
      }),
    async open(init) {
      const request = made.seedRequest(init);
      const seeded = judge.answer(`Seed ${request.sessionId}`, await made.calls.seed(request));
      const descriptor = seeded.session;
      judge.that("the answer of Seed", descriptor !== undefined, {
        expected: "a session descriptor",
        actual: seeded,
      });
      if (descriptor === undefined) throw new Error("a descriptor that was judged to be there is not");
      return openSession(made, made.calls, { request, seeded, descriptor });
    },
    through: (session, calls) => openSession(made, calls, session),
    result(what, reply) {
      const last = judge.stream(what, reply).at(-1);
      const result = last?.event.case === "result" ? last.event.value : undefined;
      judge.that(what, result !== undefined, { expected: "a terminal event `result`", actual: last });
      if (result === undefined) throw new Error("a result that was judged to be there is not");
      return result;
    },
  };
  return made;
}

function openSession(
  t: EnvironmentTrial,
  calls: EnvironmentCalls,
  opened: Pick<OpenSession, "request" | "seeded" | "descriptor">,
): OpenSession {
  const { request } = opened;
  const id = request.sessionId;
  const session: OpenSession = {
    id,
    ...opened,
    step: (index, actions, options) =>
      calls.step(
        { sessionId: id, name: { case: "stepIndex", value: index }, actions: [...actions] },
        options,
      ),
    async play(work, from = 0) {
      const answers: StepResponse[] = [];
      for (const { actions } of work?.steps ?? []) {
        const index = from + answers.length;
        answers.push(t.judge.answer(`step ${index}`, await session.step(index, actions)));
      }
      return answers;
    },
    verifyRequest: (index, init = {}) => ({
      target: {
        case: "session",
        value: {
          sessionId: id,
          verificationIndex: index,
          final: init.final ?? false,
          verifierState: init.verifierState ?? opened.descriptor.verifierState,
        },
      },
      ...(init.submission === undefined ? {} : { submission: init.submission }),
      ...(init.timeoutMs === undefined ? {} : { timeout: duration(init.timeoutMs) }),
      ...(init.afterSequence === undefined ? {} : { afterSequence: init.afterSequence }),
    }),
    verify: (index, init, options) => calls.verify(session.verifyRequest(index, init), options).finish(),
    close: (options) =>
      calls.close(
        {
          sessionId: id,
          ...(request.context?.episodeId === undefined ? {} : { episodeId: request.context.episodeId }),
        },
        options,
      ),
  };
  return session;
}
