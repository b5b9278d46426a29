import { create } from "@bufbuild/protobuf";
import {
  CaptureLevel,
  ChoiceSchema,
  type Failure,
  FailureKind,
  type GenerateRequest,
  type GenerateResponse,
  GenerateResponseSchema,
  LogprobKind,
  PromptSchema,
  Stage,
  TokenRecordSchema,
} from "../../gen/index.js";
import { answerLimit } from "../runtime/answer-limit.js";
import { checkAnswerSize } from "../runtime/answer-size.js";
import { fromMs } from "../runtime/duration.js";
import { OperationFailure, toFailure } from "../runtime/failure.js";
import { newId } from "../runtime/identity.js";
import { Refusal } from "../runtime/refusal.js";
import { admittedCall, type Origin } from "./admitted-call.js";
import type { Capture, CaptureEntry } from "./capture.js";
import { checkAnswer } from "./check-answer.js";
import { checkRequest } from "./check-request.js";
import type { ModelCall, ModelDefinition } from "./define-model.js";
import { askExtended } from "./extended-prompt.js";
import { mergeSampling } from "./merge-sampling.js";
import type { ModelContext } from "./model-context.js";
import { type ChoicePiece, Pieces } from "./pieces.js";
import type { RunningCall } from "./running-call.js";
import { relate, type TokenParent, wholeIds } from "./token-parent.js";

/** One call of the model, as its rpc puts it. */
export interface Ask extends Origin {
  readonly request: GenerateRequest;
  /** Path of the request in its message, for refusals: empty, or `request.`. */
  readonly within: string;
  /** Who reads the pieces; undefined: nobody. */
  readonly reader: { started(callId: string): void; piece(piece: ChoicePiece): void } | undefined;
}

/** What the stream's own message adds to an answer, at most. */
const streamFrameBytes = 16;

/** Continues a conversation: checks, waits for a place, asks the model, checks its answer, captures. */
export async function generate(context: ModelContext, ask: Ask): Promise<GenerateResponse> {
  const { clock } = context.runtime;
  checkRequest(context.definition, ask.request, ask.within);
  const [arrived, startTime] = [clock.now(), clock.date()];
  return await admittedCall(context, ask, async (running) => {
    const capture = ask.gateway?.state.capture;
    const callId = newId("call");
    const items = ask.request.prompt?.items ?? [];
    const entry = capture?.begin({ callId, startTime, items });
    ask.reader?.started(callId);
    try {
      const whole = await askModel(context, ask, { callId, running, entry });
      const answer = forCaller(whole, ask.request);
      checkAnswerSize(GenerateResponseSchema, answer, {
        limit: answerLimit(context.runtime.limits, ask.call) - streamFrameBytes,
        kind: FailureKind.MODEL_INVALID_OUTPUT,
      });
      if (entry !== undefined) capture?.complete(entry, whole, clock.now() - arrived);
      return answer;
    } catch (error) {
      if (entry === undefined) throw error;
      captureError(capture, entry, { ask, error, ms: clock.now() - arrived });
      // The caller is told what the capture is: the failure of its agent's call.
      throw error instanceof OperationFailure ? new OperationFailure(failureOfCall(ask, error)) : error;
    }
  });
}

interface CallFacts {
  readonly callId: string;
  readonly running: RunningCall;
  readonly entry: CaptureEntry | undefined;
}

/** The model's answer, whole: its token records are related to their parent, its pieces were all shown. */
async function askModel(
  { definition, runtime }: ModelContext,
  ask: Ask,
  facts: CallFacts,
): Promise<GenerateResponse> {
  const { entry, running } = facts;
  const pieces = new Pieces();
  const began = runtime.clock.now();
  let call = modelCall(definition, ask, { ...facts, pieces });
  const generated = await running.until(
    askExtended(call.prompt, entry?.parent, (prompt) => {
      call = { ...call, prompt };
      return definition.generate(call);
    }),
  );
  const answer = checkAnswer(definition, call, generated);
  // Time in the queue is not the model's (field-case-65).
  if (answer.usage !== undefined) answer.usage.modelTime = fromMs(runtime.clock.now() - began);
  const parent = tokenParent(ask, entry);
  for (const { tokens } of answer.choices) if (tokens !== undefined) relate(tokens, parent);
  if (ask.reader !== undefined) for (const piece of pieces.missing(answer.choices)) ask.reader.piece(piece);
  return answer;
}

function modelCall(
  definition: ModelDefinition,
  { request, reader, gateway, call }: Ask,
  { callId, entry, running, pieces }: CallFacts & { readonly pieces: Pieces },
): ModelCall {
  const { capture, sampling, context, agentId, taskId } = gateway?.state ?? {};
  // Token records are captured whether or not the caller wants them.
  const captured = capture?.level === CaptureLevel.TOKENS;
  return {
    prompt: request.prompt ?? create(PromptSchema),
    sampling: mergeSampling(request.sampling, sampling),
    choiceCount: request.choiceCount ?? 1,
    wantTokenIds: captured || request.wantTokenIds || request.wantLogprobs,
    wantLogprobs: captured ? definition.tokens === "logprobs" : request.wantLogprobs,
    callId,
    context: context ?? request.context,
    agentId: agentId ?? request.agentId,
    taskId,
    callIndex: entry?.index ?? 0,
    signal: running.signal,
    timeLeftMs: () => call.timeoutMs(),
    streaming: reader !== undefined,
    onDelta(choiceIndex, piece) {
      if (reader === undefined || running.signal.aborted) return;
      pieces.add({ choiceIndex, piece });
      reader.piece({ choiceIndex, piece });
    },
  };
}

/** What the record of a call leaves to an earlier one: as the capture finds it, else as the caller says. */
function tokenParent({ request, gateway }: Ask, entry: CaptureEntry | undefined): TokenParent | undefined {
  if (gateway?.state.capture.level === CaptureLevel.TOKENS) {
    const parent = entry?.parent;
    const ids = parent === undefined ? undefined : wholeIds(parent);
    return parent === undefined || ids === undefined ? undefined : { callId: parent.record.callId, ids };
  }
  if (request.parentCallId === "") return undefined;
  return { callId: request.parentCallId, ids: request.prompt?.prefixTokenIds ?? new Uint8Array() };
}

/** The answer with the tokens that its caller wants. */
function forCaller(
  whole: GenerateResponse,
  { wantTokenIds, wantLogprobs }: GenerateRequest,
): GenerateResponse {
  const choices = whole.choices.map(({ index, items, finishReason, tokens }) => {
    const told = create(ChoiceSchema, { index, items, finishReason });
    if (tokens === undefined || !(wantTokenIds || wantLogprobs)) return told;
    told.tokens = wantLogprobs
      ? tokens
      : create(TokenRecordSchema, {
          ...tokens,
          outputLogprobs: new Uint8Array(),
          logprobKind: LogprobKind.UNSPECIFIED,
        });
    return told;
  });
  return create(GenerateResponseSchema, { ...whole, choices });
}

/** A call that ended without an answer: refused by the model (it never was), cut by its caller, or failed. */
function captureError(
  capture: Capture | undefined,
  entry: CaptureEntry,
  { ask, error, ms }: { readonly ask: Ask; readonly error: unknown; readonly ms: number },
): void {
  if (error instanceof Refusal) capture?.forget(entry);
  else if (ask.call.signal.aborted) capture?.cut(entry, ms);
  else capture?.fail(entry, failureOfCall(ask, error), ms);
}

function failureOfCall(ask: Ask, error: unknown): Failure {
  return toFailure(error, { stage: Stage.ACTIVATE, agentId: ask.gateway?.state.agentId ?? "" });
}
