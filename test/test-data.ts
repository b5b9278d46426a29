import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type RequiredTool, requiredTool } from "./required-tool.js";

/** Folder of the published data sets that some tests read; TOUCHSTONE_DATA names another one. */
const folder = resolve(process.env["TOUCHSTONE_DATA"] ?? resolve(import.meta.dirname, "../../shared/data"));

/** A file of published data, which a machine may lack. */
export interface TestData extends RequiredTool<string> {
  readonly path: string;
}

/** A file of published data, such as `gsm8k/test.jsonl`. */
export function testData(file: string): TestData {
  const path = resolve(folder, file);
  const found = (): string | undefined => (existsSync(path) ? path : undefined);
  return {
    path,
    ...requiredTool(`the published data ${file}`, found, `TOUCHSTONE_DATA=<folder with ${file}>`),
  };
}
