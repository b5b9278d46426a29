import type { WatchStepsResponse } from "../../gen/index.js";
import { aroundStream, inAnswers, inRequests } from "./calls.js";
import type { Build, Mutant } from "./mutant.js";
import { together } from "./seams.js";

const stepOf = ({ event }: WatchStepsResponse) => (event.case === "step" ? event.value : undefined);

/** Ends a stream at a step that it does not show. */
const withoutSteps = (drop: (message: WatchStepsResponse) => boolean): Build =>
  aroundStream("watchSteps", async function* (_call, next) {
    for await (const message of next()) {
      // What is lost silently would only be waited for.
      if (drop(message)) return;
      yield message;
    }
  });

const streamsUnwatched = (): Build => {
  const streamed = new Set<string>();
  return together(
    inAnswers("stepStream", ({ answers }) => {
      for (const { answer } of answers) if (answer.case === "step") streamed.add(answer.value.answerId);
    }),
    withoutSteps((message) => streamed.has(stepOf(message)?.response?.answerId ?? "")),
  );
};

/** Shows the steps that were taken before it was asked, and ends. */
const snapshotOnly = (): Build => {
  const taken = new Map<string, number>();
  return together(
    inAnswers("step", ({ stepIndex }, { sessionId }) => void taken.set(sessionId, stepIndex + 1)),
    aroundStream("watchSteps", async function* ({ request }, next) {
      const shown = taken.get(request.sessionId) ?? 0;
      if (shown === 0) return;
      for await (const message of next()) {
        yield message;
        if (stepOf(message)?.response?.stepIndex === shown - 1) return;
      }
    }),
  );
};

/** WATCH_STEPS. */
export const watchMutants: readonly Mutant[] = [
  {
    name: "watch-loses-step",
    clause: "ENV-WTCH-001",
    what: "does not show the second step",
    build: withoutSteps((message) => stepOf(message)?.response?.stepIndex === 1),
  },
  {
    name: "watch-from-start",
    clause: "ENV-WTCH-002",
    what: "shows all steps whatever was seen",
    build: inRequests("watchSteps", (request) => {
      request.afterSequence = 0n;
    }),
  },
  {
    name: "watch-unary-only",
    clause: "ENV-WTCH-003",
    what: "does not show steps of streams",
    build: streamsUnwatched(),
  },
  {
    name: "watch-snapshot",
    clause: "ENV-WTCH-004",
    what: "shows what has come and ends",
    build: snapshotOnly(),
  },
  {
    name: "arguments-reserialised",
    clause: "ALL-DATA-007",
    what: "writes the arguments of tool calls anew",
    build: inAnswers("watchSteps", (message) => {
      for (const { kind } of stepOf(message)?.actions ?? []) {
        if (kind.case === "toolCall")
          kind.value.argumentsJson = JSON.stringify(JSON.parse(kind.value.argumentsJson), undefined, 1);
      }
    }),
  },
];
