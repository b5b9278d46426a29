import {
  type DescMessage,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import type { CallOptions, Channel } from "../../clients/index.js";
import { readRequest, readRequests, registry } from "./request-json.js";
import { type Completion, completeRequest } from "./short-forms.js";

/** A call, as a command line asks for it. */
export interface Asked {
  readonly method: DescMethod;
  /** The request's JSON, `@file` or `-`. */
  readonly data: string | undefined;
  readonly completion: Completion;
  readonly options: CallOptions;
}

/** Writes a line of the answer. */
export type Write = (line: string) => void;

/**
 * Makes a call once, and writes its answer as JSON: a single one for people to read, of a stream a line for each as it
 * comes. Answers whether what came says that it failed, such as a verification without a verdict. Throws CallError,
 * ConfigError.
 */
export async function makeCall(channel: Channel, asked: Asked, write: Write): Promise<boolean> {
  const { method, data, completion, options } = asked;
  const { input, output } = method;
  const one = async (): Promise<Message> => {
    const request = await readRequest(input, data);
    await completeRequest(method, request, completion);
    return request;
  };
  const several = async function* (): AsyncGenerator<Message, void> {
    for await (const request of readRequests(input, data)) {
      await completeRequest(method, request, completion);
      yield request;
    }
  };
  const whole = (answer: Message): boolean => {
    write(JSON.stringify(jsonOf(output, answer), null, 2));
    return failed(answer);
  };
  const eachLine = async (answers: AsyncIterable<Message>): Promise<boolean> => {
    let last = false;
    for await (const answer of answers) {
      write(JSON.stringify(jsonOf(output, answer)));
      last = failed(answer);
    }
    return last;
  };
  switch (method.methodKind) {
    case "unary":
      return whole((await channel.unary(method as Unary, await one(), options)).message);
    case "server_streaming":
      return await eachLine(channel.serverStream(method as ServerStreaming, await one(), options));
    case "client_streaming":
      return whole((await channel.clientStream(method as ClientStreaming, several(), options)).message);
    case "bidi_streaming":
      return await eachLine(channel.duplex(method as Duplex, several(), options));
  }
}

/** An answer as JSON, with numbers and flags that are 0 or false, since those are answers too; what is empty is left out. */
function jsonOf(schema: DescMessage, answer: Message): JsonValue {
  return withoutEmpty(toJson(schema, answer, { registry, alwaysEmitImplicit: true }));
}

function withoutEmpty(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, entry]) => !isEmpty(entry));
  return Object.fromEntries(kept.map(([key, entry]) => [key, withoutEmpty(entry)]));
}

function isEmpty(value: JsonValue): boolean {
  if (typeof value === "string") return value === "" || value.endsWith("_UNSPECIFIED");
  return Array.isArray(value) && value.length === 0;
}

type Unary = DescMethodUnary<DescMessage, DescMessage>;
type ServerStreaming = DescMethodServerStreaming<DescMessage, DescMessage>;
type ClientStreaming = DescMethodClientStreaming<DescMessage, DescMessage>;
type Duplex = DescMethodBiDiStreaming<DescMessage, DescMessage>;

/** An answer that says in itself that what was asked for failed: its `outcome`, or its terminal event's, is a failure. */
function failed(answer: Message): boolean {
  for (let at: unknown = answer, depth = 0; depth < 4 && typeof at === "object" && at !== null; depth += 1) {
    if ("outcome" in at) return (at.outcome as { readonly case?: string }).case === "failure";
    const { event } = at as { readonly event?: unknown };
    at = typeof event === "object" && event !== null && "value" in event ? event.value : event;
  }
  return false;
}
