import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { ErrorReason } from "../../gen/index.js";
import { invalidField, type ReasonName, Refusal } from "./refusal.js";

/** The code that the proto comment of each reason begins with: `// FAILED_PRECONDITION (`expected_index`). ...` */
function documented(): Map<string, string> {
  const file = join(import.meta.dirname, "..", "..", "proto", "touchstone", "v1", "failure.proto");
  const codes = new Map<string, string>();
  let comment = "";
  for (const line of readFileSync(file, "utf8").split("\n")) {
    const value = /^ {2}ERROR_REASON_(\w+) = \d+;/.exec(line)?.[1];
    if (line.startsWith("  //")) comment = comment === "" ? line.slice(5) : comment;
    else comment = value === undefined ? "" : comment;
    if (value !== undefined) {
      codes.set(value, /^[A-Z_]+/.exec(comment)?.[0] ?? "");
      comment = "";
    }
  }
  return codes;
}

const screaming = (code: Code): string =>
  Code[code].replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

describe("Refusal", () => {
  it("pairs each reason with the code that the contract gives it (ALL-ERR-002)", () => {
    const reasons = Object.keys(ErrorReason).filter(
      (name) => Number.isNaN(Number(name)) && name !== "UNSPECIFIED" && name !== "OPERATION_FAILED",
    ) as ReasonName[];
    const documentedCodes = documented();
    expect(reasons.length).toBeGreaterThan(25);
    for (const reason of reasons) {
      expect([reason, screaming(new Refusal(reason, "x").code)]).toEqual([
        reason,
        documentedCodes.get(reason),
      ]);
    }
  });

  it("names the field in the message, in BadRequest and in the metadata", () => {
    const { rawMessage, details } = invalidField("task.input[0].item_id", "expected something else");
    expect(rawMessage).toBe("task.input[0].item_id: expected something else");
    expect(details.map((detail) => ("value" in detail ? detail.value : detail))).toMatchObject([
      { reason: "INVALID_FIELD", domain: "touchstone", metadata: { field: "task.input[0].item_id" } },
      { fieldViolations: [{ field: "task.input[0].item_id" }] },
    ]);
  });

  it("carries RetryInfo exactly where time may cure it", () => {
    const carries = (reason: ReasonName) =>
      new Refusal(reason, "x").details.some((detail) => "desc" in detail && detail.desc === RetryInfoSchema);
    for (const reason of [
      "CAPACITY",
      "ADMISSION_TIMEOUT",
      "RATE_LIMITED",
      "SESSION_BUSY",
      "DRAINING",
    ] as const) {
      expect([reason, carries(reason)]).toEqual([reason, true]);
    }
    expect(carries("SESSION_CLOSED")).toBe(false);
  });

  it("is told from other errors of connect", () => {
    expect(invalidField("a", "b")).toBeInstanceOf(Refusal);
    const other: unknown = new TypeError("x");
    expect(other instanceof Refusal).toBe(false);
  });
});
