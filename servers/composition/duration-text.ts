import { z } from "zod";

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
const expected = "expected a duration with its unit, such as 500ms, 30s or 5m";

/** A duration as people write it (`500ms`, `30s`, `5m`, `2h`), read as milliseconds. A bare number has no unit: refused. */
export const duration = z
  .string({ error: expected })
  .regex(/^\d+(\.\d+)?(ms|s|m|h)$/, expected)
  .transform((text) => {
    const [, amount = "", unit = "ms"] = /^([\d.]+)(\D+)$/.exec(text) ?? [];
    return Number(amount) * unitMs[unit as keyof typeof unitMs];
  });

/** A duration of more than nothing. */
export const positiveDuration = duration.refine((ms) => ms > 0, "expected a duration above 0");
