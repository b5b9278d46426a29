import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { pathToString } from "@bufbuild/protobuf/reflect";
import { createValidator, type Violation } from "@bufbuild/protovalidate";
import { malformedDurations } from "./check-durations.js";
import { type FieldViolation, Refusal } from "./refusal.js";

const patterns = new Map<string, RegExp>();

/** The patterns are those of the proto files, which every engine takes alike; the platform's own is the fastest. */
function regexMatch(pattern: string, against: string): boolean {
  let known = patterns.get(pattern);
  if (known === undefined) {
    known = new RegExp(pattern, "u");
    patterns.set(pattern, known);
  }
  return known.test(against);
}

const validator = createValidator({ regexMatch });

/** Rules whose violation means an enum number that the request would act on is unknown. */
const enumRules = new Set(["enum.defined_only", "enum.in", "enum.const"]);

function describe(violation: Violation): FieldViolation {
  return { field: pathToString(violation.field), description: violation.message };
}

/**
 * Refuses a request that breaks the rules written in the proto files, every violation named by its path
 * (ALL-REFUSE-002, ALL-REFUSE-004).
 */
export function validate<D extends DescMessage>(schema: D, request: MessageShape<D>): void {
  const result = validator.validate(schema, request);
  switch (result.kind) {
    case "valid": {
      const malformed = malformedDurations(schema, request);
      if (malformed.length > 0) throw refusal("INVALID_FIELD", malformed);
      return;
    }
    case "error":
      throw result.error;
    case "invalid": {
      const violations = result.violations.map(describe);
      const unknownEnum = result.violations.every((violation) => enumRules.has(violation.ruleId));
      throw refusal(unknownEnum ? "UNKNOWN_ENUM" : "INVALID_FIELD", violations);
    }
  }
}

function refusal(reason: "UNKNOWN_ENUM" | "INVALID_FIELD", violations: readonly FieldViolation[]): Refusal {
  const text = violations.map(({ field, description }) => `${field}: ${description}`).join("; ");
  return new Refusal(reason, text, { violations });
}

/** Prepares the rules of a request type, which takes up to 100 ms the first time. */
export function warmUp(schemas: readonly DescMessage[]): void {
  for (const schema of schemas) validator.validate(schema, create(schema));
}
