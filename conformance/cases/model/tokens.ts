import { clone, create } from "@bufbuild/protobuf";
import { Feature, type Item, LogprobKind, PromptSchema, type TokenRecord } from "../../../gen/index.js";
import { type ModelTrial, modelCheck } from "./model-trial.js";

const bytesOfId = 4;
const ids = (bytes: Uint8Array): number[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / bytesOfId }, (_, at) =>
    view.getUint32(at * bytesOfId, true),
  );
};
const floats = (bytes: Uint8Array): number[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / bytesOfId }, (_, at) =>
    view.getFloat32(at * bytesOfId, true),
  );
};

/** Generates with token ids; an answer without its record is a finding. */
async function recorded(
  t: ModelTrial,
  init: Parameters<ModelTrial["generate"]>[0] = {},
): Promise<{ readonly record: TokenRecord; readonly items: readonly Item[]; readonly callId: string }> {
  const { choices, callId } = await t.generate({ wantTokenIds: true, ...init });
  const [choice] = choices;
  t.judge.that("choices[0].tokens", choice?.tokens !== undefined, {
    expected: "a record",
    actual: "nothing",
  });
  if (choice?.tokens === undefined) throw new Error("a record that was judged to be there is not");
  return { record: choice.tokens, items: choice.items, callId };
}

/** TOKEN_IDS and LOGPROBS. */
export const tokenChecks = [
  modelCheck(
    {
      clause: "MDL-LOGP-001",
      name: "one-each",
      title: "there is one finite log-prob per output id, float32 little-endian, and its kind is told.",
      features: [Feature.TOKEN_IDS],
    },
    async (t) => {
      const { record } = await recorded(t, { wantLogprobs: true });
      t.judge.equal("bytes of log-probs", record.outputLogprobs.byteLength, record.outputTokenIds.byteLength);
      t.judge.differ("logprob_kind", record.logprobKind, LogprobKind.UNSPECIFIED);
      t.judge.each("log-probs", floats(record.outputLogprobs), (value) =>
        t.judge.that("a log-prob", Number.isFinite(value) && value <= 1e-6, {
          expected: "finite, 0 at most",
          actual: value,
        }),
      );
    },
  ),
  modelCheck(
    {
      clause: "MDL-LOGP-002",
      name: "weight-spans",
      title: "weight_spans begin at token 0, rise, and each names a version.",
    },
    async (t) => {
      const { record } = await recorded(t);
      t.judge.equal("the first from_token", record.weightSpans[0]?.fromToken, 0);
      let before = -1;
      t.judge.each("weight_spans", record.weightSpans, ({ fromToken, version }) => {
        t.judge.that("from_token", fromToken > before, { expected: `above ${before}`, actual: fromToken });
        t.judge.differ("version", version, "");
        before = fromToken;
      });
    },
  ),
  modelCheck(
    {
      clause: "MDL-LOGP-007",
      name: "all-or-none",
      title: "without token ids asked for there is no record, or a whole one; asked for, a whole one.",
    },
    async (t) => {
      const plain = (await t.generate()).choices[0]?.tokens;
      const { record } = await recorded(t);
      for (const one of plain === undefined ? [record] : [plain, record]) {
        t.judge.that(
          "prompt and output ids",
          one.promptTokenIds.byteLength > 0 && one.outputTokenIds.byteLength > 0,
          {
            expected: "both",
            actual: `${one.promptTokenIds.byteLength} and ${one.outputTokenIds.byteLength} bytes`,
          },
        );
        t.judge.differ("call_id", one.callId, "");
        t.judge.that("weight_spans", one.weightSpans.length > 0, { expected: "some", actual: "none" });
      }
    },
  ),
  modelCheck(
    {
      clause: "MDL-LOGP-003",
      name: "exact-prefix",
      title: "with prefix_token_ids the prompt begins with exactly them: only the rest is told.",
    },
    async (t) =>
      continued(t, (t2, { first, second }) => {
        t2.judge.equal("prefix_len", second.prefixLen, first.length);
        const whole = t2.judge;
        whole.that("ids after the prefix", ids(second.promptTokenIds).length > 0, {
          expected: "some",
          actual: "none",
        });
      }),
  ),
  modelCheck(
    {
      clause: "MDL-LOGP-008",
      name: "parents",
      title: "call_ids are unique, and parent_call_id names the call that a prompt extends.",
    },
    async (t) =>
      continued(t, (t2, { parent, second }) => {
        t2.judge.differ("call_id of the second", second.callId, parent);
        t2.judge.equal("parent_call_id of the second", second.parentCallId, parent);
      }),
  ),
  modelCheck(
    {
      clause: "MDL-LOGP-009",
      name: "shared-left-out",
      title: "the prompt ids of a continued call leave out what its parent had.",
    },
    async (t) =>
      continued(t, (t2, { first, second, alone }) => {
        const told = [...first, ...ids(second.promptTokenIds)];
        t2.judge.equal(
          "parent's ids and these",
          told.length,
          second.prefixLen + ids(second.promptTokenIds).length,
        );
        t2.judge.that("ids of the whole prompt", told.length >= alone, {
          expected: `${alone} at least`,
          actual: told.length,
        });
      }),
  ),
  modelCheck(
    {
      clause: "MDL-LOGP-011",
      name: "prefix-items",
      title: "prefix_token_ids stand for the first prefix_items items, and only the rest is tokenised.",
    },
    async (t) =>
      continued(t, (t2, { first, second }) => t2.judge.equal("prefix_len", second.prefixLen, first.length)),
  ),
  modelCheck(
    {
      clause: "MDL-LOGP-004",
      name: "not-extensible",
      title: "a prefix that is not of these items is refused PREFIX_NOT_EXTENSIBLE; the right one is not.",
      sendsInvalid: true,
    },
    async (t) => {
      const { request, first } = await continuation(t);
      const wrong = clone(PromptSchema, request.prompt);
      wrong.prefixTokenIds = encode(first.map((id, at) => (at === 1 ? id + 1 : id)));
      t.judge.refused(
        "one id changed",
        await t.calls.generate(t.request({ prompt: wrong, wantTokenIds: true })),
      );
      await recorded(t, request);
    },
  ),
  modelCheck(
    {
      clause: "MDL-LOGP-010",
      name: "sampling-as-used",
      title: "the record holds the sampling as used and the finish.",
    },
    async (t) => {
      const { record } = await recorded(t, { sampling: { temperature: 0.5, maxOutputTokens: 2n } });
      t.judge.equal("sampling.temperature", record.sampling?.temperature, 0.5);
      t.judge.equal("sampling.max_output_tokens", record.sampling?.maxOutputTokens, 2n);
      t.judge.that("finish_reason", record.finishReason !== 0, {
        expected: "to be told",
        actual: "UNSPECIFIED",
      });
    },
  ),
].map((check) => ({ ...check, features: [...check.features, Feature.TOKEN_IDS] }));

function encode(values: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(values.length * bytesOfId);
  const view = new DataView(bytes.buffer);
  for (const [at, value] of values.entries()) view.setUint32(at * bytesOfId, value, true);
  return bytes;
}

/** A second turn that extends the first: its items, the first one's answer and a further message. */
async function continuation(t: ModelTrial) {
  const { record, items, callId } = await recorded(t);
  const first = [...ids(record.promptTokenIds), ...ids(record.outputTokenIds)];
  const before = t.prompt();
  const told = [...before.items, ...items];
  const prompt = create(PromptSchema, {
    ...before,
    items: [...told, ...t.prompt().items],
    prefixTokenIds: encode(first),
    prefixItems: told.length,
  });
  return { request: { prompt, parentCallId: callId }, first, parent: callId, told };
}

async function continued(
  t: ModelTrial,
  judge: (
    t: ModelTrial,
    of: {
      readonly first: readonly number[];
      readonly second: TokenRecord;
      readonly parent: string;
      /** Tokens that the whole prompt has by CountTokens. */
      readonly alone: number;
    },
  ) => void,
): Promise<void> {
  const { request, first, parent } = await continuation(t);
  const { record } = await recorded(t, request);
  const counted = t.judge.answer("CountTokens", await t.calls.countTokens({ prompt: t.prompt() }));
  judge(t, { first, second: record, parent, alone: Number(counted.inputTokens) });
}
