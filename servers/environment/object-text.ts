import type { FailureKind } from "../../gen/index.js";
import { authorFault } from "./author-fault.js";

/** The JSON object text of what an author gives beside an outcome; empty for nothing. Throws a failure of the kind. */
export function objectText(value: object | undefined, what: string, kind: FailureKind): string {
  if (value === undefined) return "";
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    throw authorFault(kind, `${what} cannot be written as JSON; expected a plain object`);
  }
  if (text?.startsWith("{")) return text;
  throw authorFault(kind, `${what} is no JSON object; expected a plain object`);
}
