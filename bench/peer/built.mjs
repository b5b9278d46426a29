import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** A built script of this benchmark. Where this folder was copied, TOUCHSTONE names the repository. */
export const built = (file) => {
  const root = process.env.TOUCHSTONE ?? join(import.meta.dirname, "..", "..");
  return pathToFileURL(join(root, "dist", "bench", file)).href;
};
