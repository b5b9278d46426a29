import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { parse } from "yaml";
import { initialEnvironmentFile } from "../../conformance/fixture/init-environment.js";
import { openConnection } from "../../conformance/subject/connection.js";
import { reach } from "../../conformance/subject/reach.js";
import { statusText } from "../../conformance/subject/reply.js";
import { wireLog } from "../../conformance/subject/wire-log.js";
import { EnvironmentService, type Task, TaskSchema } from "../../gen/index.js";
import { ConfigError } from "../../servers/composition/config-error.js";
import { conformanceExitCodes } from "./exit-codes.js";
import { type TargetFlags, targetOf } from "./target.js";

/** Options of `conformance init`. */
export interface InitFlags extends TargetFlags {
  readonly target: string;
  readonly task?: string;
  readonly out: string;
  readonly force?: boolean;
}

const describeMs = 10_000;

/** Asks the server what it is, writes the file, and says what it could not fill. Throws ConfigError. */
export async function initFile(flags: InitFlags): Promise<number> {
  if (existsSync(flags.out) && flags.force !== true) {
    throw new ConfigError([`${flags.out} is there already: give --force to replace it, or another --out`]);
  }
  const target = targetOf(flags.target, flags);
  const unreachable = await reach(target);
  if (unreachable !== undefined) return incomplete(unreachable.reason);
  const connection = openConnection({
    target,
    stack: "connect-node",
    number: 0,
    log: wireLog(() => 0, []),
    signal: AbortSignal.timeout(describeMs),
    onSeen: () => undefined,
  });
  const reply = await connection.client(EnvironmentService).describe({});
  connection.cut();
  if (reply.message === undefined) {
    return incomplete(
      `${flags.target} did not answer EnvironmentService.Describe: ${statusText(reply.status)}`,
    );
  }
  const { yaml, missing, optional } = initialEnvironmentFile(
    reply.message,
    flags.task === undefined ? undefined : readTask(flags.task),
  );
  writeFileSync(flags.out, yaml);
  const lines = [
    `${flags.out} written for ${reply.message.environment}.`,
    ...(missing.length === 0 ? [] : ["Still needed:", ...missing.map((line) => `  ${line}`)]),
    ...(optional.length === 0 ? [] : ["Would open further checks:", ...optional.map((line) => `  ${line}`)]),
    `Then: touchstone conformance run environment --target ${flags.target} --config ${flags.out}`,
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  return conformanceExitCodes.conformant;
}

function incomplete(reason: string): number {
  process.stderr.write(`${reason}\n`);
  return conformanceExitCodes.incomplete;
}

function readTask(path: string): Task {
  try {
    return fromJson(TaskSchema, parse(readFileSync(path, "utf8")) as JsonValue);
  } catch (error) {
    throw new ConfigError([
      `--task: ${path} must hold a touchstone.v1.Task in ProtoJSON: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
}
