import { Command, InvalidArgumentError, Option } from "commander";

/** What the command line asks for. */
export interface BenchOptions {
  readonly json: string | undefined;
  readonly tries: number;
  readonly seconds: number;
  readonly warm: number;
  /** Names of points or peers; empty: all. */
  readonly only: readonly string[];
  readonly peers: string | undefined;
  readonly profile: string | undefined;
  readonly side: "server" | "client";
  readonly sessions: number;
}

function positive(text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("expected a number above 0");
}

function count(text: string): number {
  const value = positive(text);
  if (Number.isInteger(value)) return value;
  throw new InvalidArgumentError("expected a whole number above 0");
}

/** Reads the command line; ends the process where it cannot be read. */
export function readOptions(argv: readonly string[]): BenchOptions {
  const command = new Command("bench")
    .description("Measures steps, sessions and episodes beside plain echoes and other systems' own stacks.")
    .option("--json <file>", "write all figures to this file")
    .option("--tries <n>", "tries of every figure, interleaved", count, 5)
    .option("--seconds <s>", "seconds of a try that are counted", positive, 2)
    .option("--warm <s>", "seconds of a try before them; those of peers are theirs", positive, 1.5)
    .option("--only <names...>", "these points, or points of these peers, only")
    .option("--peers <dir>", "measure the peers of this folder in the same run")
    .option("--profile <point>", "profile one point instead, and tell what dominates")
    .addOption(
      new Option("--side <side>", "the process to profile").choices(["server", "client"]).default("server"),
    )
    .option("--sessions <n>", "sessions at once while profiling", count, 64)
    .showHelpAfterError();
  const { json, tries, seconds, warm, only, peers, profile, side, sessions } = command
    .parse(argv, { from: "user" })
    .opts();
  return { json, tries, seconds, warm, only: only ?? [], peers, profile, side, sessions };
}
