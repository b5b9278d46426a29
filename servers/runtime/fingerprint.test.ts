import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  RunRequestSchema,
  SeedRequestSchema,
  StepRequestSchema,
  VerifyRequestSchema,
} from "../../gen/index.js";
import { fingerprint } from "./fingerprint.js";

const seedWith = (labels: Record<string, string>, json = "") =>
  fingerprint(
    SeedRequestSchema,
    create(SeedRequestSchema, { context: { labels }, source: { case: "task", value: { publicJson: json } } }),
  );

describe("fingerprint", () => {
  it("leaves maps unordered, at any depth", () => {
    expect(seedWith({ a: "1", b: "2" }) === seedWith({ b: "2", a: "1" })).toBe(true);
    expect(seedWith({ a: "1", b: "2" }) === seedWith({ a: "1", b: "3" })).toBe(false);
    expect(seedWith({ a: "1" }) === seedWith({ a: "1", b: "" })).toBe(false);
  });

  it("does not parse JSON text", () => {
    expect(seedWith({}, '{"a":1}') === seedWith({}, '{"a": 1}')).toBe(false);
  });

  it("leaves delivery_only fields out, in messages of every size", () => {
    for (const text of ["x", "x".repeat(10_000)]) {
      const of = (afterSequence: bigint) =>
        fingerprint(
          RunRequestSchema,
          create(RunRequestSchema, { afterSequence, source: { case: "task", value: { publicJson: text } } }),
        );
      expect(of(0n) === of(7n)).toBe(true);
    }
    const verify = (afterSequence: bigint) =>
      fingerprint(VerifyRequestSchema, create(VerifyRequestSchema, { afterSequence }));
    expect(verify(1n) === verify(2n)).toBe(true);
  });

  it("leaves unknown fields out", () => {
    const plain = create(StepRequestSchema, { sessionId: "s" });
    const newer = create(StepRequestSchema, { sessionId: "s" });
    newer.$unknown = [{ no: 999, wireType: 0, data: new Uint8Array([1]) }];
    expect(fingerprint(StepRequestSchema, plain) === fingerprint(StepRequestSchema, newer)).toBe(true);
  });

  it("tells large requests apart by a digest of fixed size", () => {
    const of = (text: string) =>
      fingerprint(StepRequestSchema, create(StepRequestSchema, { name: { case: "actionId", value: text } }));
    expect(of("x".repeat(5000))).toHaveLength(32);
    expect(of("x".repeat(5000)) === of(`${"x".repeat(4999)}y`)).toBe(false);
  });
});
