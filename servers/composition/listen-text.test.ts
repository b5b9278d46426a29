import { describe, expect, it } from "vitest";
import { listenText } from "./listen-text.js";
import { serverKinds } from "./server-schema.js";
import { telemetrySchema } from "./telemetry-schema.js";

const problemOf = (read: { readonly error?: { readonly issues: readonly { readonly message: string }[] } }) =>
  read.error?.issues[0]?.message;

describe("an address to listen on", () => {
  const addresses = {
    "127.0.0.1:0": undefined,
    "localhost:65535": undefined,
    "[::1]:8080": undefined,
    "::1:8080": "expected host:port",
    "local host:80": "expected host:port",
    host: "expected host:port",
    ":80": "expected host:port",
    "host:65536": "expected a port up to 65535",
  };

  for (const [text, problem] of Object.entries(addresses)) {
    it(`is read alike for servers and for metrics: ${text}`, () => {
      expect(problemOf(listenText.safeParse(text))).toBe(problem);
      expect(problemOf(telemetrySchema.safeParse({ prometheus: text }))).toBe(problem);
      expect(problemOf(serverKinds.model.safeParse({ model: "echo", listen: text }))).toBe(problem);
    });
  }
});
