import { ACTION, observationText, REWARD } from "../world/counter.js";
import type { MessageBytes } from "../world/step-messages.js";

/** What a JSON echo is asked. */
interface Asked {
  readonly step: number;
  readonly action: string;
  readonly pad: string;
}

/** What it answers. */
interface Answered {
  readonly step: number;
  readonly observation: string;
  readonly reward: number;
  readonly terminated: boolean;
  readonly pad: string;
}

/** JSON texts as large as Step's messages, with what a step needs in them. */
export interface JsonPayloads {
  request(index: number): string;
  /** The answer to a request. */
  reply(request: string): string;
  /** @throws Error - It is not the answer to request `index`. */
  check(reply: string, index: number): void;
}

/** A step number of three digits: most of an episode's are. */
const someStep = 500;

/** @param bytes - Sizes of the texts; those of numbers with fewer or more digits differ by these. */
export function jsonPayloads(bytes: MessageBytes): JsonPayloads {
  const asked = (step: number, pad: string): Asked => ({ step, action: ACTION, pad });
  const answered = (step: number, pad: string): Answered => ({
    step,
    observation: observationText(step + 1),
    reward: REWARD,
    terminated: false,
    pad,
  });
  const requestPad = padding(bytes.request, asked(someStep, ""));
  const replyPad = padding(bytes.response, answered(someStep, ""));
  return {
    request: (index) => JSON.stringify(asked(index, requestPad)),
    reply(request) {
      const { step, action } = JSON.parse(request) as Asked;
      if (action !== ACTION) throw new Error(`expected action "${ACTION}", found "${action}"`);
      return JSON.stringify(answered(step, replyPad));
    },
    check(reply, index) {
      const { step, observation, reward } = JSON.parse(reply) as Answered;
      if (step === index && observation === observationText(index + 1) && reward === REWARD) return;
      throw new Error(`expected the answer to step ${index}, found ${reply}`);
    },
  };
}

function padding(bytes: number, empty: object): string {
  return "p".repeat(Math.max(0, bytes - JSON.stringify(empty).length));
}
