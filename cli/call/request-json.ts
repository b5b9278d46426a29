import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { text as readAll } from "node:stream/consumers";
import { createRegistry, type DescMessage, fromJson, type JsonValue, type Message } from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.js";
import { ConfigError } from "../../servers/composition/config-error.js";
import { contractServices } from "../services.js";

/** What may stand in a message of any type, such as the details of a refused step of a stream. */
export const registry = createRegistry(
  file_google_rpc_error_details,
  ...contractServices.flatMap(({ file }) => [file, ...file.dependencies]),
);

/**
 * The request that a command line gives: JSON, `@file`, `-` for standard input; nothing is an empty one. Throws ConfigError.
 */
export async function readRequest(schema: DescMessage, given: string | undefined): Promise<Message> {
  return parse(schema, given === undefined ? "{}" : await textOf(given));
}

/** The requests of a stream, one on each line; those of standard input as they come. Throws ConfigError. */
export async function* readRequests(
  schema: DescMessage,
  given: string | undefined,
): AsyncGenerator<Message, void> {
  const lines =
    given === "-" ? createInterface({ input: process.stdin }) : (await textOf(given ?? "")).split("\n");
  for await (const line of lines) if (line.trim() !== "") yield parse(schema, line);
}

async function textOf(given: string): Promise<string> {
  if (given === "-") return await readAll(process.stdin);
  if (!given.startsWith("@")) return given;
  try {
    return readFileSync(given.slice(1), "utf8");
  } catch {
    throw new ConfigError([`${given}: cannot be read; give @ and the path of a JSON file`]);
  }
}

function parse(schema: DescMessage, text: string): Message {
  let json: JsonValue;
  try {
    json = JSON.parse(text) as JsonValue;
  } catch {
    throw new ConfigError(["expected the request as JSON, found text that is none"]);
  }
  try {
    return fromJson(schema, json, { registry });
  } catch (error) {
    const why = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    throw new ConfigError([`expected a ${schema.typeName} in JSON: ${why}`]);
  }
}
