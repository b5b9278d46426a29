import { Code } from "@connectrpc/connect";
import { codeName } from "../../clients/code-name.js";
import type { CallError } from "../../clients/index.js";
import { printable } from "../../clients/printable.js";
import { Delivery, FailureKind, Retry, Stage } from "../../gen/index.js";
import { exitCodes } from "../exit-codes.js";

/** How a call that did not end well is told: what it was, then its fields, a line each. */
export function errorText(error: CallError): string {
  const { reason, failure, code, rawMessage, violations, metadata, retryAfterMs } = error;
  const lines = [`${headline(error)}: ${printable(rawMessage) || "no message"}`];
  // A message that names the fields itself needs no second telling.
  for (const { field, description } of violations.filter((each) => !rawMessage.includes(each.description)))
    lines.push(`  ${field}: ${printable(description)}`);
  for (const [name, value] of Object.entries(metadata)) {
    if (name === "field" && violations.length > 0) continue;
    lines.push(`  ${name}: ${printable(value)}`);
  }
  if (failure !== undefined) {
    const kind = failure.kind === FailureKind.CUSTOM ? failure.customKind : FailureKind[failure.kind];
    lines.push(
      `  failure: ${printable(kind ?? String(failure.kind))}, stage ${Stage[failure.stage]}, retry ${Retry[failure.retry]}`,
    );
    if (failure.reason !== rawMessage && failure.reason !== "")
      lines.push(`  reason: ${printable(failure.reason)}`);
  }
  if (retryAfterMs !== undefined) lines.push(`  retry after: ${retryAfterMs} ms`);
  if (code === Code.Unimplemented && reason === undefined) lines.push("  the server has no such method");
  return lines.join("\n");
}

function headline({ isRefusal, isRecordedFailure, reason, code }: CallError): string {
  if (isRecordedFailure) return `failed, ${codeName(code)}`;
  return isRefusal ? `refused, ${reason} (${codeName(code)})` : `no answer, ${codeName(code)}`;
}

/** How the command ends after such an error. */
export function exitCodeOf({ isUnknown, delivery, code }: CallError): number {
  if (!isUnknown || code === Code.Unimplemented) return exitCodes.failed;
  return delivery === Delivery.NOT_SENT ? exitCodes.badInput : exitCodes.stopped;
}
