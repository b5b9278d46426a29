import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { Health } from "../gen/grpc/health/v1/health_pb.js";
import {
  AgentSessionService,
  BlobService,
  EnvironmentService,
  EpisodeService,
  ModelService,
  SandboxService,
} from "../gen/index.js";
import { type RpcKind, rpcKind } from "./rpc-kind.js";

const SERVICES = [
  EnvironmentService,
  AgentSessionService,
  ModelService,
  SandboxService,
  BlobService,
  EpisodeService,
];

/** How the comment of an rpc tells its kind. */
const SAYS: readonly (readonly [RegExp, RpcKind])[] = [
  [/\bAn operation\b/, "operation"],
  [/\bIdempotent\b/, "idempotent"],
  [/\bA call\b/, "call"],
  [/\bA read\b/, "read"],
];

/** First words of an rpc's comment, by full name, as the contract's descriptors carry them. */
function readComments(): Map<string, string> {
  const file = join(import.meta.dirname, "../gen/touchstone.binpb");
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(file));
  const comments = new Map<string, string>();
  for (const { package: pkg, service: services, sourceCodeInfo } of set.file) {
    for (const { path, leadingComments } of sourceCodeInfo?.location ?? []) {
      const [field, service, methods, method] = path;
      if (field !== 6 || methods !== 2 || path.length !== 4) continue;
      const parent = services[service ?? -1];
      const name = parent?.method[method ?? -1]?.name;
      comments.set(`${pkg}.${parent?.name}/${name}`, leadingComments.replaceAll(/\s+/g, " "));
    }
  }
  return comments;
}

describe("rpcKind", () => {
  const comments = readComments();
  const methods = SERVICES.flatMap((service) => service.methods);

  it("knows every rpc of the contract", () => {
    const named = [...comments.keys()].filter((name) => name.startsWith("touchstone.v1."));
    expect(methods.map(({ parent, name }) => `${parent.typeName}/${name}`).sort()).toEqual(named.sort());
  });

  it.each(methods.map((method) => [`${method.parent.typeName}/${method.name}`, method] as const))(
    "%s is what its comment says",
    (name, method) => {
      const comment = comments.get(name) ?? "";
      // The word that comes first; others may follow about other rpcs.
      const said = SAYS.map(([pattern, kind]) => ({ kind, at: comment.search(pattern) }))
        .filter(({ at }) => at >= 0)
        .sort((a, b) => a.at - b.at)[0]?.kind;
      // A stream of operations says that each is of its own kind.
      if (name.endsWith("/StepStream"))
        expect(comment).toContain("Each operation in a frame is of its own kind");
      else expect(said).toBe(rpcKind(method));
    },
  );

  it("takes an rpc that it does not know for a call", () => {
    expect(rpcKind(Health.method.check)).toBe("call");
  });
});
