import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Version of this package, from the package.json above this file, wherever it was built to. */
export const packageVersion: string = findVersion(import.meta.dirname);

function findVersion(folder: string): string {
  try {
    const read = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      name?: string;
      version?: string;
    };
    if (read.name === "touchstone" && read.version !== undefined) return read.version;
  } catch {
    // Not here: further up.
  }
  const above = dirname(folder);
  if (above === folder) throw new Error("package.json of touchstone was not found above its own files");
  return findVersion(above);
}
