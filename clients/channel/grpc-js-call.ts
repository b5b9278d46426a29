import { Code } from "@connectrpc/connect";
import * as grpc from "@grpc/grpc-js";
import { rpcName } from "../call-error.js";
import type { CallMetadata } from "../channel.js";
import {
  type CallEnd,
  foreignEnd,
  isGrpc,
  lostEnd,
  OK_CODE,
  OK_END,
  REFUSED_STREAM,
  resetEnd,
  tooLargeEnd,
  unsendableEnd,
  unsentEnd,
} from "./call-end.js";
import { checkMetadata } from "./check-metadata.js";
import { explainConnectFailure } from "./connect-socket.js";
import { encodeGrpcTimeout } from "./grpc-message.js";
import type { PoolMember, PoolWaiter, StreamPool } from "./stream-pool.js";
import type { TransportCall, TransportCaller } from "./transport.js";

/** What grpc-js puts around the error of a connection. */
const GRPC_JS_FRAME =
  /^No connection established\. Last error: (?:Error: )?(.*?)(?: \(\d{4}-[^)]*\))?(?:\. Resolution note: .*)?$/s;

type GrpcCall = ReturnType<grpc.Channel["createCall"]>;

/** A grpc-js channel: one connection where all addresses of the name are one server. */
export interface GrpcJsMember extends PoolMember {
  readonly channel: grpc.Channel;
}

/** What a call needs of its transport. */
export interface GrpcJsCallHost {
  readonly maxMessageBytes: number;
  /** Metadata of every call. */
  readonly headers: Readonly<Record<string, string>>;
  readonly pool: StreamPool<GrpcJsMember>;
  /** The call is over for its caller. */
  ended(call: GrpcJsCall): void;
}

/** One call of grpc-js. */
export class GrpcJsCall implements TransportCall, PoolWaiter<GrpcJsMember> {
  sent = false;
  readonly #host: GrpcJsCallHost;
  readonly #caller: TransportCaller;
  #member: GrpcJsMember | undefined;
  #call: GrpcCall | undefined;
  /** A message that waits for a place. */
  #first: Buffer | undefined;
  #halfClosed = false;
  #headers: GrpcJsMetadata | undefined;
  #over = false;
  #released = false;
  #paused = false;
  #reading = false;
  #room: (() => void) | undefined;

  constructor(host: GrpcJsCallHost, caller: TransportCaller) {
    this.#host = host;
    this.#caller = caller;
  }

  get waitsFor(): string | undefined {
    return this.#member === undefined && !this.#over ? this.#host.pool.waitsFor() : undefined;
  }

  assign(member: GrpcJsMember): void {
    this.#member = member;
    let metadata: grpc.Metadata;
    try {
      metadata = metadataOf(this.#caller, this.#host.headers);
    } catch (cause) {
      process.nextTick(() => this.#end(unsendableEnd(cause), undefined));
      this.#release();
      return;
    }
    const path = `/${rpcName(this.#caller.method)}`;
    const call = member.channel.createCall(path, Number.POSITIVE_INFINITY, null, null, undefined);
    this.#call = call;
    // grpc-js does not tell when a call leaves: it may have as soon as it has the call.
    this.sent = true;
    call.start(metadata, {
      onReceiveMetadata: (headers) => {
        this.#headers = new GrpcJsMetadata(headers);
        if (!this.#over) this.#caller.onHeaders(this.#headers);
      },
      onReceiveMessage: (message: Buffer) => {
        this.#reading = false;
        if (this.#over) return;
        this.#caller.onMessage(message);
        this.#read();
      },
      onReceiveStatus: (status) => {
        this.#release();
        this.#end(this.#endOf(status), new GrpcJsMetadata(status.metadata));
      },
    });
    this.#read();
    if (this.#first !== undefined) this.#write(call, this.#first);
    if (this.#halfClosed) call.halfClose();
  }

  fail(end: CallEnd): void {
    this.#end(end, undefined);
  }

  /** The channel ends under the call. */
  lose(reason: string): void {
    this.#cancelCall(reason);
    this.#end(lostEnd(Code.Unavailable, reason), undefined);
  }

  send(bytes: Uint8Array, last: boolean): Promise<void> | undefined {
    const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#halfClosed = last;
    const room = last ? undefined : new Promise<void>((resolve) => (this.#room = resolve));
    if (this.#call === undefined) {
      this.#first = message;
    } else {
      this.#write(this.#call, message);
      if (last) this.#call.halfClose();
    }
    return room;
  }

  halfClose(): void {
    this.#halfClosed = true;
    this.#call?.halfClose();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#read();
  }

  cancel(): void {
    if (this.#over) return;
    this.#finish();
    if (this.#member === undefined) this.#host.pool.withdraw(this);
    this.#cancelCall("cancelled by the caller");
  }

  #cancelCall(reason: string): void {
    const call = this.#call;
    if (call === undefined) return;
    call.cancelWithStatus(grpc.status.CANCELLED, reason);
    // A call that is cancelled in the turn in which it began is sent all the same, and then runs on: grpc-js only
    // has something to cancel a few microtasks later.
    setImmediate(() => call.cancelWithStatus(grpc.status.CANCELLED, reason));
  }

  #write(call: GrpcCall, message: Buffer): void {
    call.sendMessageWithContext({ callback: () => this.#room?.() }, message);
  }

  #read(): void {
    if (this.#paused || this.#reading || this.#over || this.#call === undefined) return;
    this.#reading = true;
    this.#call.startRead();
  }

  #end(end: CallEnd, trailers: CallMetadata | undefined): void {
    if (this.#over) return;
    this.#finish();
    this.#caller.onEnd(end, trailers);
  }

  #finish(): void {
    this.#over = true;
    this.#room?.();
    this.#host.ended(this);
  }

  #release(): void {
    if (this.#member === undefined || this.#released) return;
    this.#released = true;
    this.#host.pool.release(this.#member);
  }

  /** What grpc-js says of the end, with what it does not say: whether the call had left, and who answered. */
  #endOf(status: grpc.StatusObject): CallEnd {
    const { code, details } = status;
    if (code === OK_CODE) return OK_END;
    const trailers = new GrpcJsMetadata(status.metadata);
    const headers = this.#headers ?? trailers;
    const httpStatus = /^Received HTTP status code (\d+)$/.exec(details)?.[1];
    const contentType = headers.get("content-type");
    if (httpStatus !== undefined || (contentType !== undefined && !isGrpc(contentType))) {
      return foreignEnd(Number(httpStatus ?? 200), contentType, "");
    }
    // A status without any header is of grpc-js's own making.
    if (this.#headers === undefined && trailers.names().length === 0) return this.#localEnd(code, details);
    const tooLarge = /^Received message larger than max \((\d+) vs/.exec(details)?.[1];
    if (code === grpc.status.RESOURCE_EXHAUSTED && tooLarge !== undefined) {
      return tooLargeEnd(Number(tooLarge), this.#host.maxMessageBytes);
    }
    return lostEnd(code, details);
  }

  #localEnd(code: grpc.status, details: string): CallEnd {
    if (details === "Stream refused by server") return resetEnd(REFUSED_STREAM);
    // As long as no connection was picked, the peer of a call is the channel's own target.
    if (this.#call?.getPeer() === this.#member?.channel.getTarget()) {
      return unsentEnd(explainConnectFailure(details.replace(GRPC_JS_FRAME, "$1")));
    }
    return lostEnd(code, details === "Connection dropped" ? "the connection was lost" : details);
  }
}

class GrpcJsMetadata implements CallMetadata {
  readonly #metadata: grpc.Metadata;

  constructor(metadata: grpc.Metadata) {
    this.#metadata = metadata;
  }

  get(name: string): string | undefined {
    const value = this.#metadata.get(name)[0];
    return Buffer.isBuffer(value) ? value.toString("base64") : value;
  }

  names(): string[] {
    return Object.keys(this.#metadata.getMap());
  }
}

function metadataOf(caller: TransportCaller, shared: Readonly<Record<string, string>>): grpc.Metadata {
  if (caller.headers !== undefined) checkMetadata(caller.headers);
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries({ ...caller.headers, ...shared })) {
    metadata.set(name, name.endsWith("-bin") ? Buffer.from(value, "base64") : value);
  }
  // The caller's own clock ends the call; the peer is told by the header, as grpc-js itself would.
  const remaining = caller.remainingMs();
  if (remaining !== undefined) metadata.set("grpc-timeout", encodeGrpcTimeout(remaining));
  return metadata;
}
