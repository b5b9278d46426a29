import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Target } from "./connection.js";

/** Answer to a request as a browser could make it. */
export interface PlainReply {
  /** HTTP status. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** A request over HTTP/1.1, with any headers, Host and Origin too; undefined: the subject does not speak it. */
export function plainRequest(
  target: Target,
  {
    method,
    path,
    headers,
    body = "",
  }: {
    readonly method: "POST" | "OPTIONS";
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  },
): Promise<PlainReply | undefined> {
  const url = new URL(path, target.url);
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    const request = send(
      url,
      {
        method,
        headers: { ...target.headers, ...headers },
        ...target.tls,
        timeout: patienceMs,
        agent: false,
      },
      (response) => {
        response.resume();
        response.once("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
        response.once("error", () => resolve(undefined));
      },
    );
    request.once("timeout", () => request.destroy());
    request.once("error", () => resolve(undefined));
    request.end(body);
  });
}

const patienceMs = 3_000;

/** A call of the Connect protocol as JSON, as a web page makes it. */
export const connectJson: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "connect-protocol-version": "1",
};

/** Whether a web page can call it: an rpc that needs nothing is answered over HTTP/1.1 as JSON. */
export async function speaksWeb(target: Target, path: string): Promise<boolean> {
  const reply = await plainRequest(target, { method: "POST", path, headers: connectJson, body: "{}" });
  return reply?.status === 200;
}
