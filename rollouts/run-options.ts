import type { Config } from "../servers/composition/load-config.js";
import type { Clock } from "../servers/runtime/clock.js";
import type { Logger } from "../servers/runtime/log.js";
import type { RunProgress } from "./collect.js";
import type { TakenStep } from "./run-attempt.js";
import type { RunChanges, RunSettings } from "./run-settings.js";

/** What a run is told. */
export interface RunOptions {
  readonly config: Config;
  readonly changes: RunChanges;
  /** Folder of the run's files; with several agents, of a folder for each. */
  readonly out: string;
  /** Go on with the run that the folder holds. */
  readonly resume: boolean;
  readonly log: Logger;
  /** Aborts to stop: nothing new is begun, and what runs may end within drain_timeout. */
  readonly stop: AbortSignal;
  /** Aborts to give up what runs at once. */
  readonly abandon: AbortSignal;
  /** Told that the episodes of a run begin, with its name, and how long they go on once it is asked to stop. */
  readonly onBegin?: ((run: string, bounds: StopBounds) => void) | undefined;
  /** Told of each episode that has ended, with the name of its run. */
  readonly onProgress: (run: string, progress: RunProgress) => void;
  /** Told of each step that is taken, with the name of its run, where the driver tells of steps. */
  readonly onStep?: ((run: string, step: TakenStep) => void) | undefined;
  /** Told, on one line, what people should know of and nobody asked for. */
  readonly onNote?: ((text: string) => void) | undefined;
  readonly clock?: Clock;
}

/** How long episodes that run may go on when their run is asked to stop, in milliseconds. */
export interface StopBounds {
  /** To end by themselves (run.drain_timeout). */
  readonly drainMs: number;
  /** Then, or as soon as they are given up, to clean up, before they count as lost. */
  readonly cleanUpMs: number;
}

/** One of the runs that were asked for: the configuration's with other agents. */
export interface Variant {
  /** Its agents, for people. */
  readonly name: string;
  /** The agent server that the command line named. */
  readonly agent: string | undefined;
  readonly settings: RunSettings;
  readonly folder: string;
}
