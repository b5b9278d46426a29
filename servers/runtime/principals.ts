import { createHash, timingSafeEqual } from "node:crypto";
import type { HandlerContext } from "@connectrpc/connect";
import { Refusal } from "./refusal.js";

/** Who may call a server (R15, feature PRINCIPALS). */
export interface Principals {
  /** What the controller, who may do everything, shows as `authorization: Bearer <token>`. */
  readonly controllerToken: string;
}

type WithHeaders = Pick<HandlerContext, "requestHeader">;

/** The bearer token that a call carries, if it does. */
export function bearerToken(call: WithHeaders): string | undefined {
  const header = call.requestHeader.get("authorization");
  return header === null ? undefined : /^Bearer +(\S+) *$/i.exec(header)?.[1];
}

/** Whether a token is the controller's; takes as long for any other. */
export function isController({ controllerToken }: Principals, token: string | undefined): boolean {
  if (token === undefined) return false;
  return timingSafeEqual(digest(token), digest(controllerToken));
}

/** Refuses a call without, or with a wrong or dead, credential (ALL-PRIN-006). */
export function wrongCredentials(): Refusal {
  return new Refusal(
    "CREDENTIALS",
    "expected authorization: Bearer with a token that is valid here, found none or another one",
  );
}

/**
 * Refuses all but the controller: whoever else is known here may do other things (PERMISSION), anybody else nothing
 * (CREDENTIALS).
 */
export function requireController(
  principals: Principals,
  call: WithHeaders,
  knows: (token: string) => boolean,
): void {
  const token = bearerToken(call);
  if (isController(principals, token)) return;
  if (token !== undefined && knows(token)) {
    throw new Refusal(
      "PERMISSION",
      "this call is the controller's; the credential of the call opens others only",
    );
  }
  throw wrongCredentials();
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
