import { z } from "zod";

/** Where a server listens, as people write it: `host:port`, `[::1]:port`. */
export const listenText = z
  .string()
  .regex(/^(\[[^\]\s]+\]|[^:\s]+):\d{1,5}$/, "expected host:port")
  .refine((text) => Number(text.slice(text.lastIndexOf(":") + 1)) <= 65_535, "expected a port up to 65535");
