import { setTimeout as delay } from "node:timers/promises";
import { create, type DescMessage } from "@bufbuild/protobuf";
import { aroundCalls, isStream } from "./calls.js";
import type { Build } from "./mutant.js";
import { inLedger, together } from "./seams.js";

/** A server that is not broken in one clause: right, slow, or wrong everywhere. */
export interface Extreme {
  readonly name: "no-op" | "slow" | "lenient";
  readonly what: string;
  readonly build: Build;
}

/** Milliseconds that a call takes longer: about five times what it takes. */
const latencyMs = 10;

async function* late<M>(stream: AsyncIterable<M>): AsyncGenerator<M> {
  await delay(latencyMs);
  yield* stream;
}

const right: ReadonlySet<string> = new Set(["describe", "seed", "verify"]);

/** Ends well whatever came. */
async function* anyway<M>(stream: AsyncIterable<M>): AsyncGenerator<M> {
  try {
    yield* stream;
  } catch {
    // It ends as if nothing were wrong.
  }
}

/** Keeps no record of what it did. */
const forgetful: Build = inLedger((ledger) => ({
  perform(work) {
    if (ledger.find(work.scope, work.name)?.state === "ended") ledger.forget(work.scope, work.name);
    return ledger.perform(work);
  },
}));

/** Says OK to everything: what it does not do right it does not do at all, and it remembers nothing. */
const okToAll: Build = aroundCalls((call, next) => {
  const { method } = call;
  const nothing = (): unknown => create(method.output as DescMessage);
  const streams = method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming";
  if (!right.has(method.localName)) {
    return streams ? (async function* () {})() : Promise.resolve(nothing());
  }
  const answer = next(call);
  return isStream(answer) ? anyway(answer) : Promise.resolve(answer).catch(nothing);
});

/** `no-op` and `slow` must pass everything, `lenient` must fail most of it. */
export const extremes: readonly Extreme[] = [
  {
    name: "no-op",
    what: "is put around every call and does nothing",
    build: aroundCalls((call, next) => next(call)),
  },
  {
    name: "slow",
    what: "takes five times as long",
    build: aroundCalls((call, next) => {
      const kind = call.method.methodKind;
      if (kind === "unary" || kind === "client_streaming") return delay(latencyMs).then(() => next(call));
      return late(next(call) as AsyncIterable<unknown>);
    }),
  },
  {
    name: "lenient",
    what: "describes, seeds and verifies right, and says OK to everything else",
    build: together(forgetful, okToAll),
  },
];
