import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type EpisodeContext, type SeedRequest, SeedRequestSchema, type Task } from "../../../gen/index.js";
import { Refusal } from "../../runtime/refusal.js";

/** What a session's state holds: enough to begin the same world again. */
export interface SealedSession {
  readonly sessionId: string;
  readonly context: EpisodeContext;
  readonly task: Task;
  readonly seed: bigint | undefined;
}

const algorithm = "aes-256-gcm";
const ivBytes = 12;
const tagBytes = 16;
/** ENV-SEED-016 */
const largestState = 65_536;
/** What a state may grow to again, so that nobody makes a server unpack without end. */
const largestContent = 64 << 20;
const purpose = Buffer.from("touchstone.v1 verifier_state");

/**
 * A session's verifier_state: encrypted and authenticated, other for each session (ENV-SEED-021). Empty where the task
 * is too large for it.
 */
export function sealState(key: Uint8Array, { sessionId, context, task, seed }: SealedSession): Uint8Array {
  const content = create(SeedRequestSchema, {
    sessionId,
    context,
    source: { case: "task", value: task },
    ...(seed === undefined ? {} : { seed }),
  });
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, key, iv).setAAD(purpose);
  const plain = deflateRawSync(toBinary(SeedRequestSchema, content));
  const sealed = Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return sealed.length > largestState ? new Uint8Array() : sealed;
}

/** Opens a state that was sealed for a session. Throws VERIFIER_STATE_INVALID for any other (ENV-SLVR-003). */
export function openState(key: Uint8Array, state: Uint8Array, sessionId: string): SealedSession {
  const content = decrypt(key, state);
  if (content?.source.case !== "task" || content.sessionId !== sessionId || content.context === undefined) {
    throw invalidState();
  }
  return {
    sessionId,
    context: content.context,
    task: content.source.value,
    seed: content.seed,
  };
}

/** The refusal of a state that was not given to the session, or was altered. */
export function invalidState(): Refusal {
  return new Refusal("VERIFIER_STATE_INVALID", "verifier_state is not one that this session was given");
}

function decrypt(key: Uint8Array, state: Uint8Array): SeedRequest | undefined {
  if (state.length <= ivBytes + tagBytes) return undefined;
  try {
    const decipher = createDecipheriv(algorithm, key, state.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    }).setAAD(purpose);
    decipher.setAuthTag(state.subarray(-tagBytes));
    const plain = Buffer.concat([decipher.update(state.subarray(ivBytes, -tagBytes)), decipher.final()]);
    return fromBinary(SeedRequestSchema, inflateRawSync(plain, { maxOutputLength: largestContent }));
  } catch {
    // Whatever is wrong with it, it was not given here.
    return undefined;
  }
}
