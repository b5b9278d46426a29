import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

interface Package {
  /** The folder that holds package.json, gen/ and the catalogue's data. */
  readonly folder: string;
  /** Version of the suite, which is that of its package. */
  readonly version: string;
}

/** The package of the suite, above these files wherever they were built to. */
export const suitePackage: Package = find(import.meta.dirname);

function find(folder: string): Package {
  try {
    const read = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      name?: string;
      version?: string;
    };
    if (read.name === "touchstone" && read.version !== undefined) return { folder, version: read.version };
  } catch {
    // Not here: further up.
  }
  const above = dirname(folder);
  if (above === folder) throw new Error("package.json of touchstone was not found above the suite's files");
  return find(above);
}
