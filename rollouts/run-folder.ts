import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ConfigError } from "../servers/composition/config-error.js";

/** Files of a run, in its folder. */
export const runFiles = {
  /** Verdicts, each once: the truth. */
  rollouts: "rollouts.jsonl",
  /** Each failed attempt. */
  failures: "failures.jsonl",
  /** What is planned, running, landed. */
  index: "index.sqlite",
  metrics: "metrics.json",
  /** What was configured, without secrets. */
  config: "config.yaml",
} as const;

const indexParts = [`${runFiles.index}-wal`, `${runFiles.index}-shm`];

/** Whether a folder holds a run. */
export function holdsRun(folder: string): boolean {
  return existsSync(join(folder, runFiles.index)) || existsSync(join(folder, runFiles.rollouts));
}

/** Refuses what can be no folder of a run, before anything is started. Makes nothing. */
export function checkFolder(folder: string): void {
  let found: Stats | undefined;
  try {
    found = statSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    throw new ConfigError([
      `${folder}: cannot be a folder: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
  if (found !== undefined && !found.isDirectory()) {
    throw new ConfigError([`${folder}: expected a folder, found a file; choose another --out`]);
  }
}

/** Refuses to go on where nothing has begun: a misspelt folder would be a new run without a word. */
export function checkResumable(folder: string): void {
  if (existsSync(folder)) return;
  throw new ConfigError([
    `${folder}: expected the folder of a run that --resume goes on with, found nothing; leave --resume out to begin one`,
  ]);
}

/** Makes the folder of a run. Throws ConfigError where that cannot be. */
export function makeFolder(folder: string): void {
  try {
    makeLevels(resolve(folder));
  } catch (error) {
    throw new ConfigError([
      `${folder}: cannot be made: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
}

/** Makes what is missing, level by level: Node's own recursive form never returns below /proc. */
function makeLevels(folder: string): void {
  if (existsSync(folder)) return;
  makeLevels(dirname(folder));
  mkdirSync(folder);
}

/** Sets an earlier run's files apart, so that nothing of it shows in a fresh one (field-case-092). Answers where they are. */
export function setApart(folder: string): string {
  const earlier = join(folder, "earlier");
  mkdirSync(earlier, { recursive: true });
  const numbers = readdirSync(earlier).map(Number).filter(Number.isInteger);
  const target = join(earlier, String(Math.max(0, ...numbers) + 1));
  mkdirSync(target);
  for (const file of [...Object.values(runFiles), ...indexParts]) {
    if (existsSync(join(folder, file))) renameSync(join(folder, file), join(target, file));
  }
  return target;
}

/** Writes a file of the run's folder whole: it is there with all its text, or as it was. */
export function writeWhole(folder: string, name: string, text: string): void {
  const path = join(folder, name);
  try {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  } catch (error) {
    rmSync(`${path}.new`, { force: true });
    throw error;
  }
}
