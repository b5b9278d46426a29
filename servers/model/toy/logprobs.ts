import { createHash } from "node:crypto";

/** Log-probs that one digest gives: 8 words of 32 bits. */
const perDigest = 8;

/**
 * Log-probs of a toy answer: finite, at most 0, the same for the same seed and choice. They are of the toy's own
 * distribution (RAW), which nothing cuts.
 */
export function toyLogprobs(count: number, seed: bigint, choiceIndex: number): number[] {
  const logprobs: number[] = [];
  for (let block = 0; logprobs.length < count; block += 1) {
    const digest = createHash("sha256").update(`toy log-probs ${seed} ${choiceIndex} ${block}`).digest();
    for (let word = 0; word < perDigest; word += 1) {
      // A word of 0 would have probability 0: words count from 1.
      logprobs.push(Math.log((digest.readUInt32LE(word * 4) + 1) / 2 ** 32));
    }
  }
  return logprobs.slice(0, count);
}
