import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { EnvironmentService, TaskSchema } from "../../../../gen/index.js";
import { temporaryFolder } from "../../../../test/temporary-folder.js";
import { hasOpenssl, makeCertificates } from "../../../../test/transport/certificates.js";
import { systemClock } from "../../../runtime/clock.js";
import { Channels } from "../../../runtime/dial.js";
import { route } from "../../../runtime/route.js";
import { createRuntime } from "../../../runtime/runtime.js";
import { serve } from "../../../runtime/serve.js";
import { Part } from "./part.js";

it.skipIf(!hasOpenssl())("an endpoint that a part told is shown the part's client certificate", async () => {
  const { authority, server, client } = makeCertificates();
  const files = temporaryFolder({ "ca.pem": authority, "cert.pem": server.cert, "key.pem": server.key });
  const runtime = createRuntime({});
  const held = { live: () => 0, drain: async () => {} };
  const closed: string[] = [];
  const closes = route(runtime, EnvironmentService, {
    async close({ sessionId }) {
      closed.push(sessionId);
      return { receipt: { cleanupConfirmed: true } };
    },
  });
  await using told = await serve({
    runtime,
    services: [{ routes: [closes], ...held }],
    tls: { cert: `${files}/cert.pem`, key: `${files}/key.pem`, clientCa: `${files}/ca.pem` },
  });
  const tells = route(runtime, EnvironmentService, {
    seed: async ({ sessionId }) => ({
      session: { sessionId, endpoint: { url: told.url, caPem: authority } },
    }),
  });
  await using telling = await serve({ runtime, services: [{ routes: [tells], ...held }] });
  await using channels = new Channels();
  const start = { task: create(TaskSchema), seed: undefined, signal: new AbortController().signal };
  const begin = (shown: object) =>
    Part.begin({ url: telling.url, ...shown }, start, { dial: channels.dial, clock: systemClock });

  const part = await begin({ clientCert: { certPem: client.cert, keyPem: client.key } });
  await part.close();
  expect(closed).toEqual([part.session.sessionId]);
});
