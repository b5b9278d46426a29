import { z } from "zod";
import { objectOf, readOptionsText } from "../runtime/options-text.js";
import { invalidField } from "../runtime/refusal.js";
import type { DriverDefinition } from "./define-driver.js";

/** A driver of a server, with the options that the configuration gives it. */
export interface ConfiguredDriver {
  readonly definition: DriverDefinition;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The schema of a driver's options; a driver without takes none. */
export function driverSchema({ options }: DriverDefinition): z.ZodType {
  return options ?? z.strictObject({});
}

/**
 * The drivers of a server with their options: a sole driver's are those of the server's entry, of several each has its
 * own under its name. Throws where they do not fit (EPI-E8-001).
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
    const own = drivers.length === 1 ? options : (options[definition.name] ?? {});
    const parsed = driverSchema(definition).safeParse(own);
    if (parsed.success) return { definition, options: own as Record<string, unknown> };
    const [issue] = parsed.error.issues;
    const path = [drivers.length === 1 ? "options" : `options.${definition.name}`, ...(issue?.path ?? [])];
    throw new Error(`${path.join(".")}: ${issue?.message ?? "does not fit the driver's options"}`);
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
  return readOptionsText({ schema: driverSchema(definition), defaults: options }, optionsJson);
}
