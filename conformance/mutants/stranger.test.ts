import { fileURLToPath } from "node:url";
import {
  create,
  type DescMessage,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
} from "@bufbuild/protobuf";
import {
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { EnvironmentService } from "../../gen/index.js";
import { readConformanceFile } from "../fixture/conformance-file.js";
import type { RunResult } from "../runner/result.js";
import { runConformance } from "../runner/run-conformance.js";

/** A service as grpc-js knows it, from the generated descriptor alone. */
function definitionOf(service: DescService): ServiceDefinition {
  const bytes = (schema: DescMessage) => (message: Message) => Buffer.from(toBinary(schema, message));
  const message = (schema: DescMessage) => (read: Buffer) => fromBinary(schema, read);
  return Object.fromEntries(
    service.methods.map(({ name, localName, methodKind, input, output }) => [
      localName,
      {
        path: `/${service.typeName}/${name}`,
        requestStream: methodKind === "client_streaming" || methodKind === "bidi_streaming",
        responseStream: methodKind === "server_streaming" || methodKind === "bidi_streaming",
        requestSerialize: bytes(input),
        requestDeserialize: message(input),
        responseSerialize: bytes(output),
        responseDeserialize: message(output),
      },
    ]),
  );
}

/** Judges a server of bare stubs, none of this project's code in it. */
async function judgeStranger(implementation: UntypedServiceImplementation): Promise<RunResult> {
  const server = new Server();
  server.addService(definitionOf(EnvironmentService), implementation);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  try {
    return await runConformance({
      profile: "environment",
      target: { url: `http://127.0.0.1:${port}`, headers: {} },
      file: readConformanceFile(fileURLToPath(new URL("../reference/conformance.yaml", import.meta.url))),
      smoke: false,
      seed: "stranger",
    });
  } finally {
    server.forceShutdown();
  }
}

describe("a stranger of bare generated stubs", () => {
  it("that answers UNIMPLEMENTED to everything is told apart from a server that fails", async () => {
    const { verdict, blocked, checks } = await judgeStranger({});
    expect({ verdict, cause: blocked?.cause, checks: checks.length }).toMatchInlineSnapshot(`
      {
        "cause": "version",
        "checks": 0,
        "verdict": "incomplete",
      }
    `);
  });

  it("that describes itself and does nothing else passes nothing but what Describe says", async () => {
    const { output } = EnvironmentService.method.describe;
    const answer = create(output, { service: { contractVersion: "1.0", instanceId: "stranger" } });
    const { verdict, checks } = await judgeStranger({
      describe: (_call: unknown, answered: (error: null, value: Message) => void) => answered(null, answer),
    });
    const passed = checks.filter((check) => check.verdict === "pass").map(({ check }) => check);
    expect({ verdict, passed: [...new Set(passed)] }).toMatchInlineSnapshot(`
      {
        "passed": [
          "ALL-DESC-002.same-each-time",
          "ALL-DESC-013.contract-version",
          "ALL-FAIL-003.crash-text-seed",
          "ALL-FAIL-008.credential-untold-seed",
          "ALL-FAIL-010.details-bounded-seed",
          "ALL-PRIV-002.every-error",
          "ENV-DESC-004.kinds-with-step",
          "ENV-DESC-007.providers-are-names",
        ],
        "verdict": "not-conformant",
      }
    `);
    expect(checks.filter((check) => check.verdict === "fail").length).toBeGreaterThan(passed.length);
  }, 120_000);
});
