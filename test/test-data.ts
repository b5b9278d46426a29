import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { TestContext } from "vitest";

/** Folder of the published data sets that some tests read; TOUCHSTONE_DATA names another one. */
const folder = resolve(process.env["TOUCHSTONE_DATA"] ?? resolve(import.meta.dirname, "../../shared/data"));

/** A file of published data, which a machine may lack: it is no tool that could be installed, so CI may lack it too. */
export interface TestData {
  readonly path: string;
  /** Why a test that needs it does not run here; false: it is here. */
  readonly skip: string | false;
  /** Its path. Where it is missing the running test is skipped and says why. */
  need(context: Pick<TestContext, "skip">): string;
}

/** A file of published data, such as `gsm8k/test.jsonl`. */
export function testData(file: string): TestData {
  const path = resolve(folder, file);
  if (existsSync(path)) return { path, skip: false, need: () => path };
  const reason = `the published data ${file} is not on this machine; TOUCHSTONE_DATA=<folder with ${file}> names it`;
  // Reporters show the reason of a skip in their verbose form only.
  console.warn(`Tests are skipped: ${reason}`);
  return { path, skip: reason, need: (context) => context.skip(reason) };
}
