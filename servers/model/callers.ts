import type { HandlerContext } from "@connectrpc/connect";
import { bearerToken, isController } from "../runtime/principals.js";
import { Refusal } from "../runtime/refusal.js";
import type { Gateways, OpenGateway } from "./gateway.js";

type WithHeaders = Pick<HandlerContext, "requestHeader">;

/**
 * The gateway whose key a call carries; undefined: it is the controller's, which carries the server's credential, or
 * none where there is none. A key that is wrong or dead is refused CREDENTIALS (MDL-GATE-006, field-case-132).
 */
export function gatewayOf(
  call: WithHeaders,
  { sessions, keys, principals }: Gateways,
): OpenGateway | undefined {
  const key = bearerToken(call);
  if (principals === undefined && call.requestHeader.get("authorization") === null) return undefined;
  if (principals !== undefined && isController(principals, key)) return undefined;
  const id = key === undefined ? undefined : keys.get(key);
  const session = id === undefined ? undefined : sessions.known(id);
  if (session === undefined || session.end !== undefined || session.failed || session.state === undefined) {
    throw new Refusal(
      "CREDENTIALS",
      `the bearer token is no key of an open gateway: expected the api_key that OpenGateway answered, or ${
        principals === undefined ? "no credential" : "the controller's"
      }`,
    );
  }
  return session as OpenGateway;
}

/** Refuses a call that is the controller's only to the holder of a gateway's key (MDL-GATE-010). */
export function controllerOnly(call: WithHeaders, gateways: Gateways): void {
  if (gatewayOf(call, gateways) === undefined) return;
  throw new Refusal(
    "PERMISSION",
    "a gateway's key opens Generate, StreamGenerate and CountTokens only; this call is the controller's",
  );
}
