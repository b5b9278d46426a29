import { z } from "zod";
import { objectOf, readOptionsText } from "../runtime/options-text.js";
import { invalidField } from "../runtime/refusal.js";
import type { DriverDefinition } from "./define-driver.js";

/** A driver of a server, with the options that the configuration gives it. */
export interface ConfiguredDriver {
  readonly definition: DriverDefinition;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The schema of a driver without options. */
export const noOptions: z.ZodType<Readonly<Record<string, never>>> = z.strictObject({});

/** What a server's entry says for one of its drivers: of a sole driver all, of several what stands under its name. */
export function ownOptions(
  { name }: DriverDefinition,
  drivers: readonly DriverDefinition[],
  options: Readonly<Record<string, unknown>>,
): { readonly own: unknown; readonly path: readonly string[] } {
  return drivers.length === 1 ? { own: options, path: [] } : { own: options[name] ?? {}, path: [name] };
}

/**
 * The drivers of a server with their options. Throws where they do not fit (EPI-E8-001); a driver without a schema has
 * none, and what is said for it is the affair of the module that made it.
 */
export function configureDrivers(
  drivers: readonly DriverDefinition[],
  options: Readonly<Record<string, unknown>> = {},
): ConfiguredDriver[] {
  const names = drivers.map(({ name }) => name);
  const stranger = Object.keys(options).find((name) => !names.includes(name));
  if (drivers.length > 1 && stranger !== undefined) {
    throw new Error(
      `options: expected those of each driver under its name (${names.join(", ")}), found "${stranger}"`,
    );
  }
  return drivers.map((definition) => {
    if (definition.options === undefined) return { definition, options: {} };
    const { own, path } = ownOptions(definition, drivers, options);
    const parsed = definition.options.safeParse(own);
    if (parsed.success) return { definition, options: own as Record<string, unknown> };
    const [issue] = parsed.error.issues;
    const field = ["options", ...path, ...(issue?.path ?? [])].join(".");
    throw new Error(`${field}: ${issue?.message ?? "does not fit the driver's options"}`);
  });
}

/** The options of one episode: Run's over the server's. Throws INVALID_FIELD with the path of what does not fit. */
export function episodeOptions({ definition, options }: ConfiguredDriver, optionsJson: string): unknown {
  const asked = objectOf(optionsJson);
  const reserved = definition.configured?.find((key) => key in asked);
  if (reserved !== undefined) {
    // EPI-RUN-013: where something is, and with which credentials, no caller says.
    throw invalidField(`options_json.${reserved}`, "is set by the server's configuration only");
  }
  return readOptionsText({ schema: definition.options ?? noOptions, defaults: options }, optionsJson);
}
