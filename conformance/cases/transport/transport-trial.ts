import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import {
  EnvironmentServiceDescribeRequestSchema,
  type SeedRequest,
  SeedRequestSchema,
} from "../../../gen/index.js";
import { checksOf } from "../../check/check.js";
import type { RawCall, RawConnection, RawReply } from "../../subject/raw-call.js";
import { frame } from "../../subject/raw-call.js";
import type { EnvironmentTrial } from "../environment/environment-trial.js";

/** What the checks of the wire work with: an environment server, spoken to by hand. */
export interface TransportTrial extends EnvironmentTrial {
  /** A connection by node:http2 alone, destroyed when the check ends. One fault a connection. */
  raw(): RawConnection;
}

/** Defines a check of the transport profile. */
export const transportCheck = checksOf<TransportTrial>("transport");

const service = "/touchstone.v1.EnvironmentService/";

/** The path of an rpc of EnvironmentService. */
export const path = (rpc: string): string => `${service}${rpc}`;

/** A request as bytes, framed. */
export function framed<D extends DescMessage>(schema: D, message: MessageShape<D>): Buffer {
  return frame(toBinary(schema, message));
}

/** Describe, by hand. */
export const describeCall = (): RawCall => ({
  path: path("Describe"),
  chunks: [frame(toBinary(EnvironmentServiceDescribeRequestSchema, emptyDescribe))],
});
const emptyDescribe: MessageShape<typeof EnvironmentServiceDescribeRequestSchema> = {
  $typeName: "touchstone.v1.EnvironmentServiceDescribeRequest",
};

/** A Seed by hand under an id that nobody else has. */
export function seedCall(t: TransportTrial): { readonly request: SeedRequest; readonly bytes: Buffer } {
  const request = t.seedRequest();
  return { request, bytes: framed(SeedRequestSchema, request) };
}

/** Closes what a call by hand may have opened: the runner does not see it. */
export async function closeSeeded(t: TransportTrial, { sessionId, context }: SeedRequest): Promise<void> {
  const episodeId = context?.episodeId;
  t.judge.answer(
    "Close of what was opened by hand",
    await t.elsewhere().close({ sessionId, ...(episodeId === undefined ? {} : { episodeId }) }),
  );
}

/** The session was never opened. */
export async function neverOpened(t: TransportTrial, sessionId: string): Promise<void> {
  const { status } = await t.elsewhere().keepAlive({ sessionId });
  t.judge.equal("reason of KeepAlive afterwards", status?.reason, "SESSION_UNKNOWN");
}

/** The first message of an answer; a reply without one is a finding. */
export function onlyMessage<D extends DescMessage>(
  t: TransportTrial,
  what: string,
  schema: D,
  reply: RawReply,
): MessageShape<D> {
  const [message] = reply.messages;
  t.judge.that(what, reply.code === 0 && message !== undefined && reply.messages.length === 1, {
    expected: "OK and one message",
    actual: `code ${reply.code} and ${reply.messages.length} messages`,
  });
  return fromBinary(schema, message ?? new Uint8Array(0));
}

/** After a fault: a fresh connection and a normal call work (TRN-WIRE-001). */
export async function lives(t: TransportTrial): Promise<void> {
  t.judge.answer("Describe over a fresh connection", await t.elsewhere().describe({}));
}
