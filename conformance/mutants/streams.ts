import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type EpisodeId,
  Feature,
  type StepRequest,
  StepStreamAnswerSchema,
  type StepStreamRequest,
  type StepStreamResponse,
} from "../../gen/index.js";
import { Refusal } from "../../servers/runtime/refusal.js";
import { type Ask, around, aroundCalls, eachOf, inAnswers, inRequests } from "./calls.js";
import { inventedStep, newName } from "./invented.js";
import type { Build, Mutant } from "./mutant.js";
import { together } from "./seams.js";

interface StreamCall {
  readonly requests: AsyncIterable<StepStreamRequest>;
  readonly context: HandlerContext;
  readonly ask: Ask;
}

/** Stands around every stream of steps. */
const aroundSteps = (
  handle: (
    call: StreamCall,
    next: (requests: AsyncIterable<StepStreamRequest>) => AsyncIterable<StepStreamResponse>,
  ) => AsyncIterable<StepStreamResponse>,
): Build =>
  aroundCalls((call, next, ask) => {
    if (call.method.localName !== "stepStream") return next(call);
    const requests = call.request as unknown as AsyncIterable<StepStreamRequest>;
    return handle(
      { requests, context: call.context, ask },
      (given) => next({ ...call, request: given as never }) as AsyncIterable<StepStreamResponse>,
    );
  });

const stepsOf = ({ operations }: StepStreamRequest): StepRequest[] =>
  operations.flatMap(({ operation }) => (operation.case === "step" ? [operation.value] : []));

/** Changes the steps of streams. */
const inStreamed = (change: (step: StepRequest) => void): Build =>
  inRequests("stepStream", (frame) => {
    for (const step of stepsOf(frame)) change(step);
  });

const isError = ({ answers }: StepStreamResponse): boolean =>
  answers.some(({ answer }) => answer.case === "error");

/** Sends the first answer of every so many behind the one that follows it. */
const swaps = (every: number): Build =>
  aroundSteps(async function* ({ requests }, next) {
    let held: StepStreamResponse | undefined;
    let count = 0;
    for await (const frame of next(requests)) {
      if (held === undefined && frame.answers.length > 0 && count++ % every === 0) {
        held = frame;
        continue;
      }
      yield frame;
      if (held !== undefined) yield held;
      held = undefined;
    }
    if (held !== undefined) yield held;
  });

/** Ends a stream behind the first frame that `when` is true of. */
const endsBehind = (when: (frame: StepStreamResponse) => boolean): Build =>
  aroundSteps(async function* ({ requests }, next) {
    for await (const frame of next(requests)) {
      yield frame;
      if (when(frame)) return;
    }
  });

/** Counts frames that came and are not answered. */
const paced = (come: (frame: StepStreamRequest, waiting: () => number) => void | Promise<void>): Build =>
  aroundSteps(async function* ({ requests }, next) {
    let waiting = 0;
    const counted = (async function* () {
      for await (const frame of requests) {
        await come(frame, () => waiting);
        waiting += 1;
        yield frame;
      }
    })();
    for await (const answer of next(counted)) {
      if (answer.answers.length > 0) waiting -= 1;
      yield answer;
    }
  });

const resumesAgain = (): Build => {
  const seen = new Set<string>();
  return inStreamed((step) => {
    const name = `${step.sessionId}/${String(step.name.value)}`;
    if (seen.has(name)) step.name = { case: "actionId", value: newName("resumed") };
    seen.add(name);
  });
};

const halfCloseCloses = (): Build => {
  const episodes = new Map<string, EpisodeId | undefined>();
  return together(
    inRequests("seed", ({ sessionId, context }) => void episodes.set(sessionId, context?.episodeId)),
    aroundSteps(async function* ({ requests, context, ask }, next) {
      let sessionId = "";
      yield* next(
        eachOf(requests, (frame) => {
          sessionId = stepsOf(frame)[0]?.sessionId ?? sessionId;
          return frame;
        }),
      );
      const episodeId = episodes.get(sessionId);
      if (episodeId !== undefined) await ask("close", { sessionId, episodeId }, context);
    }),
  );
};

const stuckLock = (): Build => {
  const stuck = new Set<string>();
  return together(
    aroundSteps(async function* ({ requests }, next) {
      let sessionId = "";
      let waiting = 0;
      const counted = (async function* () {
        try {
          for await (const frame of requests) {
            sessionId = stepsOf(frame)[0]?.sessionId ?? sessionId;
            waiting += 1;
            yield frame;
          }
        } finally {
          // Nothing more comes: the reader has left, or will send nothing more.
          if (waiting > 0) stuck.add(sessionId);
        }
      })();
      for await (const frame of next(counted)) {
        if (frame.answers.length > 0) waiting -= 1;
        yield frame;
      }
    }),
    around("step", async ({ request }, next) => {
      if (stuck.has(request.sessionId)) throw new Refusal("SESSION_BUSY", "a step runs");
      return await next();
    }),
  );
};

const twoLedgers = (): Build => {
  const streamed = new Set<string>();
  const nameOf = ({ sessionId, name }: StepRequest): string => `${sessionId}/${String(name.value)}`;
  return together(
    inStreamed((step) => void streamed.add(nameOf(step))),
    around("step", async ({ request }, next) => {
      if (streamed.has(nameOf(request))) throw new Refusal("OUT_OF_ORDER", "it was not asked for here");
      return await next();
    }),
  );
};

/** StepStream. */
export const streamMutants: readonly Mutant[] = [
  {
    name: "stream-reorders",
    clause: "ENV-STRM-001",
    what: "answers the second frame before the first",
    build: swaps(1_000),
  },
  {
    name: "stream-needs-lock-step",
    clause: "ENV-STRM-002",
    what: "takes a frame when the last one is answered, and says so",
    build: inAnswers("describe", (answer) => {
      answer.maxPipelinedSteps = 1;
    }),
  },
  {
    name: "refusal-ends-stream",
    clause: "ENV-STRM-003",
    what: "ends the stream behind a refusal",
    build: endsBehind(isError),
  },
  {
    name: "runs-after-refusal",
    clause: "ENV-STRM-004",
    what: "takes what was sent behind a refused step",
    build: inStreamed((step) => {
      if (step.name.case === "stepIndex") step.name = { case: "actionId", value: `at-${step.name.value}` };
    }),
  },
  {
    name: "resume-re-executes",
    clause: "ENV-STRM-005",
    what: "takes a step again that a new stream repeats",
    build: resumesAgain(),
  },
  {
    name: "half-close-closes",
    clause: "ENV-STRM-006",
    what: "closes the session with its stream",
    build: halfCloseCloses(),
  },
  {
    name: "stuck-lock",
    clause: "ENV-STRM-007",
    what: "takes no step any more once a reader left in the middle of one",
    build: stuckLock(),
  },
  {
    name: "two-ledgers",
    clause: "ENV-STRM-008",
    what: "knows nothing of a stream's steps outside of it",
    build: twoLedgers(),
  },
  {
    name: "drops-when-full",
    clause: "ENV-STRM-009",
    what: "sends one answer of fifty behind the next one",
    build: swaps(50),
  },
  {
    name: "stream-unknown-ok",
    clause: "ENV-STRM-011",
    what: "answers a step of a session that it does not know",
    build: inAnswers("stepStream", ({ answers }) => {
      for (const one of answers) {
        if (one.answer.case === "error") one.answer = { case: "step", value: inventedStep() };
      }
    }),
  },
  {
    name: "heartbeat-answers-step",
    clause: "ENV-STRM-012",
    what: "answers a step by a heartbeat",
    build: inAnswers("stepStream", ({ answers }) => {
      if (answers.length === 0)
        answers.push(create(StepStreamAnswerSchema, { answer: { case: "step", value: inventedStep() } }));
    }),
  },
  {
    name: "batch-half-run",
    clause: "ENV-STRM-013",
    what: "takes frames of several steps without declaring it",
    build: inAnswers("describe", ({ service }) => {
      if (service !== undefined)
        service.features = service.features.filter((one) => one !== Feature.STEP_BATCH);
    }),
  },
  {
    name: "failure-ends-stream",
    clause: "ENV-STRM-014",
    what: "ends the stream behind a step that failed",
    build: endsBehind(({ answers }) =>
      answers.some(({ answer }) => answer.case === "error" && [10, 13].includes(answer.value.code)),
    ),
  },
  {
    name: "batch-one-answer",
    clause: "ENV-BATC-001",
    what: "answers the first operation of a frame alone",
    build: inAnswers("stepStream", ({ answers }) => {
      answers.length = Math.min(1, answers.length);
    }),
  },
  {
    name: "batch-all-or-nothing",
    clause: "ENV-BATC-002",
    what: "refuses a whole frame for one of its operations",
    build: inAnswers("stepStream", (frame) => {
      const error = frame.answers.find(({ answer }) => answer.case === "error");
      if (error !== undefined) frame.answers = frame.answers.map(() => error);
    }),
  },
  {
    name: "frame-seed-unledgered",
    clause: "ENV-BATC-003",
    what: "answers a Seed in a frame anew each time",
    build: inAnswers("stepStream", ({ answers }) => {
      for (const { answer } of answers) {
        if (answer.case === "seed") answer.value.answerId = newName("seed");
      }
    }),
  },
  {
    name: "frame-close-no-tombstone",
    clause: "ENV-BATC-004",
    what: "closes nothing by a Close in a frame",
    build: inRequests("stepStream", ({ operations }) => {
      for (const { operation } of operations) {
        if (operation.case === "close") operation.value.sessionId = newName("nothing");
      }
    }),
  },
  {
    name: "batch-head-of-line",
    clause: "ENV-BATC-005",
    what: "begins a frame when the last one is answered",
    build: paced(async (_frame, waiting) => {
      while (waiting() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }),
  },
];
