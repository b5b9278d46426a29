import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Item, ItemSchema } from "../../gen/index.js";

/**
 * Digests of every beginning of a conversation: the one at index i stands for its first i items. Two conversations
 * begin with the same items exactly when their digests there are equal. Ids and agent_id do not count: a harness sets
 * them on what it passes on.
 */
export function itemChain(items: readonly Item[], behind = ""): string[] {
  const chain = [behind];
  for (const item of items) {
    const said = create(ItemSchema, { kind: item.kind, extraJson: item.extraJson });
    const digest = createHash("sha256")
      .update(chain.at(-1) ?? "")
      .update(toBinary(ItemSchema, said));
    chain.push(digest.digest("base64"));
  }
  return chain;
}
