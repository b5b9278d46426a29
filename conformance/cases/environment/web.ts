import { toJsonString } from "@bufbuild/protobuf";
import { EnvironmentService, SeedRequestSchema } from "../../../gen/index.js";
import { connectJson, plainRequest } from "../../subject/plain-http.js";
import { type EnvironmentTrial, environmentCheck } from "./environment-trial.js";

const evil = "evil.example";
const path = `/${EnvironmentService.typeName}/${EnvironmentService.method.seed.name}`;

/** A Seed as a web page would send it. */
function seed(t: EnvironmentTrial, headers: Readonly<Record<string, string>>) {
  const request = t.seedRequest();
  const sent = plainRequest(t.target, {
    method: "POST",
    path,
    headers: { ...connectJson, ...headers },
    body: toJsonString(SeedRequestSchema, request),
  });
  return { request, sent };
}

/** R15: a web page cannot reach a server from a browser. */
export const webChecks = [
  environmentCheck(
    {
      clause: "ALL-WEB-001",
      name: "foreign-origin-or-host",
      title:
        "a Seed as JSON with a foreign Origin or Host is refused 403 and makes no session; without one it does.",
      sendsInvalid: true,
    },
    async (t) => {
      const plain = seed(t, {});
      t.judge.equal("the HTTP status without Origin", (await plain.sent)?.status, 200);
      await t.calls.close({
        sessionId: plain.request.sessionId,
        episodeId: plain.request.context?.episodeId ?? {},
      });
      const foreign = { origin: { origin: `https://${evil}` }, host: { host: evil } };
      for (const [what, headers] of Object.entries(foreign)) {
        const { request, sent } = seed(t, headers);
        t.judge.equal(`the HTTP status with a foreign ${what}`, (await sent)?.status, 403);
        const { status } = await t.calls.keepAlive({ sessionId: request.sessionId });
        t.judge.equal("the reason for its session", status?.reason, "SESSION_UNKNOWN");
      }
    },
  ),
  environmentCheck(
    {
      clause: "ALL-WEB-002",
      name: "preflight",
      title: "a preflight of a foreign origin is not allowed, by name or by wildcard.",
      sendsInvalid: true,
    },
    async (t) => {
      const origin = `https://${evil}`;
      const reply = await plainRequest(t.target, {
        method: "OPTIONS",
        path,
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type,connect-protocol-version",
        },
      });
      t.judge.that("the answer to the preflight", reply !== undefined, { expected: "one", actual: "none" });
      const allowed = reply?.headers["access-control-allow-origin"] ?? "";
      t.judge.that("access-control-allow-origin", allowed !== "*" && allowed !== origin, {
        expected: `neither * nor ${origin}`,
        actual: allowed,
      });
    },
  ),
];
