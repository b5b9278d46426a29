import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "vitest";
import { ServerReflection as ReflectionV1 } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ReflectionV1alpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { EnvironmentService } from "../../../gen/index.js";
import { ProbeService } from "../../../test/transport/gen/transport/probe/v1/probe_pb.js";
import { type ServiceRoute, serviceRoute } from "../grpc/service-route.js";
import { createHealth, openPort, reflectionRoutes } from "./index.js";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Keeps the routes whose service the test wants to be found. */
async function open(keep: (route: ServiceRoute) => boolean = () => true): Promise<string> {
  const served = [
    serviceRoute(ProbeService, { unary: ({ text }) => ({ text: `${text}!` }) }),
    serviceRoute(EnvironmentService, {}),
    createHealth([]).route,
  ];
  const routes = [...served, ...reflectionRoutes(served)].filter(keep);
  const port = await openPort({ routes, host: "127.0.0.1", port: 0 });
  cleanups.push(() => port.close({ graceMs: 0 }));
  return port.url;
}

const buf = join(import.meta.dirname, "..", "..", "..", "node_modules", ".bin", "buf");
const run = promisify(execFile);
const curl = async (...args: string[]): Promise<string> =>
  (await run(buf, ["curl", "--http2-prior-knowledge", ...args])).stdout.trim();

describe.each([
  ["v1", ReflectionV1, "grpc.reflection.v1alpha.ServerReflection"],
  ["v1alpha", ReflectionV1alpha, "grpc.reflection.v1.ServerReflection"],
])("reflection %s", (version, service, other) => {
  async function ask(query: object) {
    const client = createClient(
      service as typeof ReflectionV1,
      createGrpcTransport({ baseUrl: await open() }),
    );
    const requests = (async function* () {
      yield { host: "h", messageRequest: query as never };
    })();
    for await (const answer of client.serverReflectionInfo(requests)) return answer;
    throw new Error("expected an answer");
  }

  async function filesFor(query: object): Promise<string[]> {
    const { messageResponse } = await ask(query);
    if (messageResponse.case !== "fileDescriptorResponse") throw new Error(JSON.stringify(messageResponse));
    const file = messageResponse.value.fileDescriptorProto.map((bytes) =>
      fromBinary(FileDescriptorProtoSchema, bytes),
    );
    // Builds only where every dependency is there.
    createFileRegistry(create(FileDescriptorSetSchema, { file: [...file].reverse() }));
    return file.map(({ name }) => name);
  }

  it("lists the services", async () => {
    const { messageResponse, validHost, originalRequest } = await ask({ case: "listServices", value: "" });
    expect(validHost).toBe("h");
    expect(originalRequest?.messageRequest.case).toBe("listServices");
    expect(messageResponse).toMatchObject({
      case: "listServicesResponse",
      value: {
        service: [
          "grpc.health.v1.Health",
          "grpc.reflection.v1.ServerReflection",
          "grpc.reflection.v1alpha.ServerReflection",
          "touchstone.v1.EnvironmentService",
          "transport.probe.v1.ProbeService",
        ].map((name) => ({ name })),
      },
    });
  });

  it("gives a file with everything it imports, by name and by any symbol in it", async () => {
    const health = "grpc/health/v1/health.proto";
    expect(await filesFor({ case: "fileByFilename", value: health })).toEqual([health]);
    for (const symbol of [
      "grpc.health.v1.Health",
      "grpc.health.v1.Health.Check",
      "grpc.health.v1.HealthCheckRequest",
      "grpc.health.v1.HealthCheckRequest.service",
      "grpc.health.v1.HealthCheckResponse.ServingStatus",
      "grpc.health.v1.HealthCheckResponse.SERVING",
    ]) {
      expect(await filesFor({ case: "fileContainingSymbol", value: symbol })).toEqual([health]);
    }
    const files = await filesFor({ case: "fileContainingSymbol", value: EnvironmentService.typeName });
    expect(files[0]).toBe("touchstone/v1/environment.proto");
    expect(files).toContain("buf/validate/validate.proto");
    expect(files).toContain("google/protobuf/descriptor.proto");
  });

  it("finds extensions", async () => {
    const containingType = "google.protobuf.FieldOptions";
    const { messageResponse } = await ask({ case: "allExtensionNumbersOfType", value: containingType });
    if (messageResponse.case !== "allExtensionNumbersResponse")
      throw new Error(JSON.stringify(messageResponse));
    expect(messageResponse.value.baseTypeName).toBe(containingType);
    // buf.validate.field
    expect(messageResponse.value.extensionNumber).toContain(1159);
    const files = await filesFor({
      case: "fileContainingExtension",
      value: { containingType, extensionNumber: 1159 },
    });
    expect(files[0]).toBe("buf/validate/validate.proto");
    const none = await ask({ case: "allExtensionNumbersOfType", value: "transport.probe.v1.Probe" });
    expect(none.messageResponse.value).toMatchObject({ extensionNumber: [] });
  });

  it.each([
    { case: "fileByFilename", value: "no.proto" },
    { case: "fileContainingSymbol", value: "no.Such" },
    { case: "allExtensionNumbersOfType", value: "no.Such" },
    {
      case: "fileContainingExtension",
      value: { containingType: "transport.probe.v1.Probe", extensionNumber: 1 },
    },
  ])("answers NOT_FOUND for %j", async (query) => {
    expect((await ask(query)).messageResponse).toMatchObject({
      case: "errorResponse",
      value: { errorCode: 5 },
    });
  });

  it("is understood by buf curl, over gRPC, gRPC-Web and Connect", async () => {
    const url = await open((route) => route.service.typeName !== other);
    const reflect = ["--reflect-protocol", `grpc-${version}`];
    const services = await curl(...reflect, "--list-services", url);
    expect(services.split("\n")).toContain("touchstone.v1.EnvironmentService");
    for (const protocol of ["grpc", "grpcweb", "connect"]) {
      const answer = await curl(
        ...[...reflect, "--protocol", protocol, "--data", '{"text":"hi"}'],
        `${url}/transport.probe.v1.ProbeService/Unary`,
      );
      expect(JSON.parse(answer)).toEqual({ text: "hi!" });
    }
  });
});
