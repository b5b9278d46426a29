import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { CauseSchema, FailureKind, FailureSchema, Retry, Stage } from "../../gen/index.js";
import { cutText, OperationFailedError, OperationFailure, toFailure } from "./failure.js";

const stage = { stage: Stage.STEP };

describe("toFailure", () => {
  it("gives no words of an unexpected error (ALL-FAIL-003)", () => {
    for (const thrown of [new Error("/home/x: secret"), "secret", { secret: true }, undefined, null]) {
      const failure = toFailure(thrown, stage);
      expect(failure).toMatchObject({ kind: FailureKind.INTERNAL, stage: Stage.STEP, retry: Retry.NEVER });
      expect(JSON.stringify(failure)).not.toContain("secret");
    }
  });

  it("keeps a vendor's kind and its retry, and bounds what it says (field-case-042)", () => {
    const failure = toFailure(
      new OperationFailure({
        kind: FailureKind.CUSTOM,
        customKind: "acme:disk_on_fire",
        retry: Retry.NEVER,
        reason: `line\n[fatal] fake log ${"x".repeat(200_000)}`,
      }),
      stage,
    );
    expect(failure).toMatchObject({ customKind: "acme:disk_on_fire", retry: Retry.NEVER });
    expect(Buffer.byteLength(failure.reason)).toBeLessThanOrEqual(2000);
  });

  it("always says what may help, and where it was", () => {
    const failure = toFailure(new OperationFailure({ reason: "x" }), { stage: Stage.VERIFY, agentId: "a" });
    expect(failure).toMatchObject({
      kind: FailureKind.INTERNAL,
      retry: Retry.NEVER,
      stage: Stage.VERIFY,
      agentId: "a",
    });
    const told = new OperationFailure({ stage: Stage.SEED, agentId: "b", retry: Retry.NEXT_INDEX });
    expect(toFailure(told, stage)).toMatchObject({
      stage: Stage.SEED,
      agentId: "b",
      retry: Retry.NEXT_INDEX,
    });
  });
});

describe("OperationFailedError", () => {
  it("is ABORTED where another attempt may help, else INTERNAL (ALL-FAIL-009)", () => {
    const code = (retry: Retry) => new OperationFailedError(create(FailureSchema, { retry }), "id").code;
    expect([Retry.NEVER, Retry.NEXT_INDEX, Retry.NEW_ATTEMPT].map(code)).toEqual([
      Code.Internal,
      Code.Aborted,
      Code.Aborted,
    ]);
  });

  it("stays within 4 KiB, causes cut first (ALL-FAIL-010)", () => {
    const causes = Array.from({ length: 8 }, () => create(CauseSchema, { reason: "c".repeat(300) }));
    const failure = create(FailureSchema, {
      reason: "r".repeat(2000),
      detailsJson: `"${"d".repeat(1500)}"`,
      causes,
    });
    const error = new OperationFailedError(failure, "id");
    const [, detail] = error.details;
    const sent = create(FailureSchema, (detail as { value: object }).value);
    expect(toBinary(FailureSchema, sent).length).toBeLessThanOrEqual(4096);
    expect(sent.causes.length).toBeLessThan(8);
    expect(sent.reason).toHaveLength(2000);
    expect(failure.causes).toHaveLength(8);
  });
});

describe("cutText", () => {
  it("cuts between characters and mends lone surrogates", () => {
    expect(cutText("aé€😀", 100)).toBe("aé€😀");
    expect([0, 1, 2, 3, 5, 6, 9, 10].map((bytes) => cutText("aé€😀", bytes))).toEqual([
      "",
      "a",
      "a",
      "aé",
      "aé",
      "aé€",
      "aé€",
      "aé€😀",
    ]);
    expect(cutText("\ud800", 10)).toBe("\ufffd");
  });
});
