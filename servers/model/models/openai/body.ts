import { type Sampling, SamplingSchema } from "../../../../gen/index.js";
import { invalidField } from "../../../runtime/refusal.js";
import type { Json } from "./extra.js";

/**
 * The JSON text of a request. Seeds have 64 bits, more than a JSON number of JavaScript holds, and are written as they are
 * (field-case-8).
 */
export function bodyText(body: Json, seed: bigint | undefined): string {
  const text = JSON.stringify(body);
  return seed === undefined ? text : `${text.slice(0, -1)},"seed":${seed}}`;
}

/** Whether a field of Sampling is set. */
export function isSet(sampling: Sampling, name: keyof Sampling): boolean {
  const value = sampling[name];
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== "";
}

/** Refuses fields of Sampling that an upstream does not take, by name: nothing is left out in silence. */
export function refuseSampling(sampling: Sampling, names: readonly (keyof Sampling)[], why: string): void {
  for (const name of names) {
    if (!isSet(sampling, name)) continue;
    const field = SamplingSchema.fields.find(({ localName }) => localName === name)?.name ?? name;
    throw invalidField(`sampling.${field}`, why);
  }
}

/** Fields under the names that the upstream has for them, those that are not set left out. */
export function fieldsOf(sampling: Sampling, names: Readonly<Partial<Record<keyof Sampling, string>>>): Json {
  return Object.fromEntries(
    Object.entries(names)
      .filter(([name]) => isSet(sampling, name as keyof Sampling))
      .map(([name, there]) => [there, sampling[name as keyof Sampling]]),
  );
}
