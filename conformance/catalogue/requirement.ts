import { z } from "zod";
import { profiles } from "./profile.js";

/** Code and reason of a refusal; several codes or reasons where the contract leaves a choice. */
export const expectedRefusalSchema = z.strictObject({
  /** Names of gRPC codes, `FAILED_PRECONDITION`. */
  code: z.array(z.string()).min(1),
  /** Values of ErrorReason without their prefix. Empty: the clause speaks of statuses that are not ours. */
  reason: z.array(z.string()),
});

/** What a refusal must say. */
export type ExpectedRefusal = z.infer<typeof expectedRefusalSchema>;

/** What the catalogue knows of a clause beside its text, level and conditions, which the proto comment says. */
export const requirementSchema = z.strictObject({
  /**
   * What a check of it needs beside the fixture's task: nothing; a line of conformance.yaml that must be there
   * (without it the clause is not-testable, which counts as failed); an optional one (needs-input); or leave to
   * fill the subject's capacity (needs-input).
   */
  input: z
    .union([
      z.literal("none"),
      z.literal("storm"),
      z.strictObject({ must: z.string() }),
      z.strictObject({ may: z.string() }),
    ])
    .default("none"),
  /** Why a stranger cannot observe it, and where it is checked instead. */
  unobservable: z.string().optional(),
  /** Profiles in which it has no check yet, and why. */
  planned: z.partialRecord(z.enum(profiles), z.string()).optional(),
  /** The refusal that it demands, where it demands one: there is no default. */
  expects: expectedRefusalSchema.optional(),
  /** Names of the mutants that a check of it must kill. */
  mutants: z.array(z.string()).default([]),
});

/** One entry of `requirements/<area>.yaml`. */
export type Requirement = z.infer<typeof requirementSchema>;

/** A file of requirements: clause id to what is known of it. */
export const requirementFileSchema = z.record(
  z.string().regex(/^[A-Z]{3}-[A-Z0-9]+-\d{3}$/),
  requirementSchema,
);
