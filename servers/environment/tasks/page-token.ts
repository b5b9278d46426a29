import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { invalidField } from "../../runtime/refusal.js";

/** Where a page begins, and of what. */
export interface Page {
  readonly split: string;
  readonly taskset: string;
  readonly index: number;
}

/** Makes and reads tokens of pages: a token that was not given here is refused (ENV-LIST-009). */
export interface PageTokens {
  of(page: Page): string;
  /** The index that a token tells; 0 for the empty one. Throws INVALID_FIELD. */
  read(token: string, page: Omit<Page, "index">): number;
}

const signatureBytes = 16;

/** Page tokens signed with a key of this process. */
export function pageTokens(key: Uint8Array = randomBytes(32)): PageTokens {
  const sign = (index: Buffer, { split, taskset }: Omit<Page, "index">): Buffer =>
    createHmac("sha256", key)
      .update(JSON.stringify([split, taskset, index.toString("hex")]))
      .digest()
      .subarray(0, signatureBytes);
  return {
    of({ index, ...page }) {
      const place = Buffer.from(String(index));
      return Buffer.concat([sign(place, page), place]).toString("base64url");
    },
    read(token, page) {
      if (token === "") return 0;
      const bytes = Buffer.from(token, "base64url");
      const place = bytes.subarray(signatureBytes);
      const signature = bytes.subarray(0, signatureBytes);
      const right =
        bytes.toString("base64url") === token &&
        signature.length === signatureBytes &&
        timingSafeEqual(signature, sign(place, page));
      if (right) return Number(place.toString());
      throw invalidField(
        "page_token",
        "expected a next_page_token that this server gave for the split, found another text; begin again without one",
      );
    },
  };
}
