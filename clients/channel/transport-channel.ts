import type { Channel } from "../channel.js";
import type { CallScope } from "./call.js";
import { StreamCall } from "./stream-call.js";
import { UnaryCall } from "./unary-call.js";

/** The channel over a transport. */
export function transportChannel(scope: CallScope): Channel {
  const { transport } = scope;
  return {
    target: transport.target,
    unary: (method, request, options) => new UnaryCall(scope, method, { one: request }, options).answer,
    serverStream: (method, request, options) => new StreamCall(scope, method, { one: request }, options),
    clientStream: (method, requests, options) =>
      new UnaryCall(scope, method, { many: requests }, options).answer,
    duplex: (method, requests, options) => new StreamCall(scope, method, { many: requests }, options),
    stats: () => transport.stats(),
    close: () => transport.close(),
    [Symbol.asyncDispose]: () => transport.close(),
  };
}
