import { createHash } from "node:crypto";
import { create, type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import {
  type BlobRef,
  BlobService,
  EnvironmentServiceCloseResponseSchema,
  Feature,
  ItemListSchema,
  ItemSchema,
  Role,
  StepResponseSchema,
  type Submission,
  SubmissionSchema,
  VerifyResponseSchema,
} from "../../../gen/index.js";
import { getBlob, putBlob, refOf } from "../shared/blobs.js";
import { type EnvironmentTrial, environmentCheck, type OpenSession } from "./environment-trial.js";
import { idleActions } from "./known-actions.js";
import { verifyEnd } from "./operations/verify.js";

const usualLimit = 4 << 20;
const mib = 1 << 20;

const sizeOf = <D extends DescMessage>(schema: D, message: Message): number =>
  toBinary(schema, message as never).byteLength;

function judgeSize(t: EnvironmentTrial, what: string, bytes: number): void {
  t.judge.that(what, bytes <= usualLimit, {
    expected: `${usualLimit} bytes at most`,
    actual: `${bytes} bytes`,
  });
}

/** Every blob that a message refers to. */
function refsIn(value: unknown): BlobRef[] {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [];
  const own = "$typeName" in value && value.$typeName === "touchstone.v1.BlobRef" ? [value as BlobRef] : [];
  return [...own, ...Object.values(value).flatMap(refsIn)];
}

const bigAction = (t: EnvironmentTrial) => t.may(t.fixture.big?.action, "environment.big.action");
const goodOf = (t: EnvironmentTrial) => t.must(t.fixture.sample.good, "environment.sample.good");

async function rewardOf(t: EnvironmentTrial, session: OpenSession, submission: Submission): Promise<unknown> {
  const { outcome } = t.result("Verify", await session.verify(0, { submission }));
  return outcome.case === "verdict" ? outcome.value.reward : outcome.value;
}

/** The good submission with the items of each agent behind a ref. */
async function byRef(
  t: EnvironmentTrial,
  change: (ref: BlobRef) => BlobRef = (ref) => ref,
): Promise<Submission> {
  const { submission } = goodOf(t);
  const whole = t.must(submission, "environment.sample.good.submission");
  const agents = [];
  for (const agent of whole.agents) {
    const list = { $typeName: "touchstone.v1.ItemList" as const, items: agent.items };
    const bytes = toBinary(ItemListSchema, list);
    t.judge.answer("PutBlob", await putBlob(t.connect().client(BlobService), bytes));
    agents.push({ ...agent, items: [], itemsRef: change(refOf(bytes)) });
  }
  return { ...whole, agents };
}

/** R11 where a world makes, or takes, large content. */
export const bigContentChecks = [
  environmentCheck(
    {
      clause: "ALL-DESC-009",
      name: "step",
      title: "the answer to a step that saw 6 MiB is within 4 MiB.",
      features: [Feature.STEP],
    },
    async (t) => {
      const reply = await (await t.open()).step(0, [bigAction(t)]);
      if (reply.message !== undefined) {
        judgeSize(t, "the answer", sizeOf(StepResponseSchema, reply.message));
        return;
      }
      // A client's own refusal of what is too large for it has no ErrorInfo.
      t.judge.survives("the step", reply);
      t.judge.that("the end of the step", reply.status.domain !== "", {
        expected: "an answer of 4 MiB at most, or a status of the subject with ErrorInfo",
        actual: `${reply.status.code} without ErrorInfo: the answer was larger than its caller takes`,
      });
    },
  ),
  environmentCheck(
    {
      clause: "ALL-DESC-009",
      name: "verify",
      title: "no event of a verification with 6 MiB to tell is above 4 MiB.",
    },
    async (t) => {
      const submission = t.may(t.fixture.big?.submission, "environment.big.submission");
      const events = t.judge.stream("Verify", await (await t.open()).verify(0, { submission }));
      t.judge.each("the events", events, (event) =>
        judgeSize(t, "an event", sizeOf(VerifyResponseSchema, event)),
      );
    },
  ),
  environmentCheck(
    {
      clause: "ALL-SIZE-001",
      name: "delivered-or-not-done",
      title: "a step that saw 6 MiB is answered, also to a repeat; or refused, and its index is free.",
      features: [Feature.STEP],
    },
    async (t) => {
      const session = await t.open();
      const action = bigAction(t);
      const reply = await session.step(0, [action]);
      if (reply.message !== undefined) {
        const again = t.judge.answer("the repeat", await session.step(0, [action]));
        t.judge.equal("its answer_id", again.answerId, reply.message.answerId);
      } else if (reply.status.failure === undefined) {
        t.judge.answer("another step at its index", await session.step(0, idleActions(t)));
      } else {
        // What the work would bring was not to be known before it: its failure is recorded, and told again.
        t.judge.equal(
          "the repeat",
          t.judge.failed("it", await session.step(0, [action])),
          reply.status.failure,
        );
      }
    },
  ),
  environmentCheck(
    {
      clause: "ALL-SIZE-002",
      name: "receipt",
      title: "after 8 MiB of work the receipt is under 64 KiB.",
      within: 30,
    },
    async (t) => {
      const session = await t.open();
      const { submission } = t.must(t.fixture.sample.bad, "environment.sample.bad");
      const [first, ...others] = submission?.agents ?? [];
      if (first === undefined) return t.notApplicable("the bad work has no items to grow");
      const padding = create(ItemSchema, {
        agentId: first.agentId,
        kind: {
          case: "chatMessage",
          value: { role: Role.ASSISTANT, content: [{ kind: { case: "text", value: "x".repeat(2 * mib) } }] },
        },
      });
      for (let index = 0; index < 4; index += 1) {
        const grown = create(SubmissionSchema, {
          agents: [{ ...first, items: [padding, ...first.items] }, ...others],
        });
        t.result(`Verify ${index}`, await session.verify(index, { submission: grown }));
      }
      const receipt = t.judge.answer("Close", await session.close());
      const bytes = sizeOf(EnvironmentServiceCloseResponseSchema, receipt);
      t.judge.that("the receipt", bytes < 64 * 1_024, { expected: "under 64 KiB", actual: `${bytes} bytes` });
    },
  ),
  environmentCheck(
    {
      clause: "ALL-BLOB-005",
      name: "step-refs",
      title: "each blob that a large observation refers to can be fetched, and is what its ref says.",
      features: [Feature.BLOBS, Feature.STEP],
    },
    async (t) => {
      const reply = await (await t.open()).step(0, [bigAction(t)]);
      const refs = refsIn(reply.message);
      if (refs.length === 0) t.notApplicable("the answer refers to no blob");
      for (const ref of refs) {
        const bytes = await getBlob(t, t.connect().client(BlobService), ref);
        const sha256 = createHash("sha256").update(bytes).digest("hex");
        t.judge.equal("sha256 of the bytes", sha256, Buffer.from(ref.sha256).toString("hex"));
        t.judge.equal("size of the bytes", BigInt(bytes.byteLength), ref.sizeBytes);
        t.judge.that("media_type", ref.mediaType !== "", { expected: "to be set", actual: "nothing" });
      }
    },
  ),
  environmentCheck(
    {
      clause: "ALL-BLOB-006",
      name: "items-by-ref",
      title: "the good items behind a ref get the verdict that they get in place.",
      features: [Feature.BLOBS],
    },
    async (t) => {
      const inline = t.must(goodOf(t).submission, "environment.sample.good.submission");
      const wanted = await rewardOf(t, await t.open(), inline);
      t.judge.equal("the reward by ref", await rewardOf(t, await t.open(), await byRef(t)), wanted);
    },
  ),
  environmentCheck(
    {
      clause: "ALL-BLOB-007",
      name: "unknown-ref",
      title: "a ref that cannot be read is refused by its path; the right one under the same index is taken.",
      features: [Feature.BLOBS],
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const unknown = new TextEncoder().encode(t.id("never-stored"));
      const wrong = await byRef(t, (ref) => ({ ...refOf(unknown), mediaType: ref.mediaType }));
      const end = verifyEnd(await session.verify(0, { submission: wrong }));
      t.judge.names("BadRequest", t.judge.refused("an unknown ref", end), "submission.agents[0].items_ref");
      t.result("the right one", await session.verify(0, { submission: await byRef(t) }));
    },
  ),
];
