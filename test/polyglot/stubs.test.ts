import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { requiredTool } from "../required-tool.js";
import { filesBelow, generateByTemplate, generateGoByProtoc, generatePythonByProtoc } from "./generate.js";
import { findPrograms, findPython, repository, run } from "./toolchain.js";

/** A cold build of grpc-go on a busy machine with two cores takes minutes; a warm one seconds. */
const BUILD_TIMEOUT_MS = 300_000;

const polyglot = join(repository, "test", "polyglot");
const clientInGo = join(polyglot, "go");

const python = requiredTool("Python with grpcio-tools", findPython, "test/polyglot/install.sh python");
const go = requiredTool(
  "Go with its two protoc plugins",
  () => findPrograms("go", "protoc-gen-go", "protoc-gen-go-grpc"),
  "test/polyglot/install.sh go",
);
const rust = requiredTool(
  "protoc-gen-prost and protoc-gen-tonic",
  () => findPrograms("protoc-gen-prost", "protoc-gen-tonic"),
  "test/polyglot/install.sh rust",
);
const java = requiredTool(
  "protoc and protoc-gen-grpc-java",
  () => findPrograms("protoc", "protoc-gen-grpc-java"),
  "test/polyglot/install.sh java",
);

// Imports every module, and sends a message with an option of ours and a oneof through the wire format.
const IMPORT_ALL = `
import importlib, json, pkgutil
from google.rpc import error_details_pb2, status_pb2
from buf.validate import validate_pb2
import touchstone.v1 as package
for module in pkgutil.iter_modules(package.__path__):
    importlib.import_module(f"touchstone.v1.{module.name}")
from touchstone.v1 import environment_pb2, environment_pb2_grpc, options_pb2
service = environment_pb2.DESCRIPTOR.services_by_name["EnvironmentService"]
target = environment_pb2.SessionVerification(session_id="s", final=True)
sent = environment_pb2.VerifyRequest(session=target, after_sequence=2**53 + 1)
got = environment_pb2.VerifyRequest.FromString(sent.SerializeToString())
field = got.DESCRIPTOR.fields_by_name["after_sequence"]
print(json.dumps({
    "methods": [method.name for method in service.methods],
    "stub": hasattr(environment_pb2_grpc, "EnvironmentServiceStub"),
    "arm": got.WhichOneof("target"),
    "after_sequence": str(got.after_sequence),
    "delivery_only": field.GetOptions().Extensions[options_pb2.delivery_only],
}))
`;

const IMPORTED = {
  methods: [
    "Describe",
    "Seed",
    "Verify",
    "Close",
    "KeepAlive",
    "Step",
    "StepStream",
    "ListTools",
    "Advance",
    "Fork",
    "WatchSteps",
    "ListTasks",
    "GetTask",
    "AggregateMetrics",
  ],
  stub: true,
  arm: "session",
  after_sequence: "9007199254740993",
  delivery_only: true,
};

function importAll(interpreter: string, stubs: string): unknown {
  const printed: unknown = JSON.parse(run(interpreter, ["-c", IMPORT_ALL], { env: { PYTHONPATH: stubs } }));
  return printed;
}

describe("the templates buf.gen.*.yaml", () => {
  it("make Python that imports, and that the client runs with", (context) => {
    const interpreter = python.need(context);
    const stubs = generateByTemplate("python", interpreter);
    expect(importAll(interpreter, stubs)).toEqual(IMPORTED);
    const usage = run(interpreter, [join(polyglot, "python", "drive_episode.py"), "--help"], {
      env: { PYTHONPATH: stubs },
    });
    expect(usage).toContain("--environment HOST:PORT");
  });

  it(
    "make Go that the client compiles with",
    (context) => {
      const tools = go.need(context);
      const stubs = generateByTemplate("go");
      expect(filesBelow(stubs)).toContain("buf/validate/validate.pb.go");
      expect(run(tools.go, ["vet", "./..."], { cwd: clientInGo })).toBe("");
    },
    BUILD_TIMEOUT_MS,
  );

  it("make TypeScript that compiles by itself", () => {
    const stubs = generateByTemplate("typescript");
    const project = join(repository, ".cache", "polyglot", "typescript-project");
    mkdirSync(project, { recursive: true });
    const compilerOptions = {
      target: "ES2022",
      module: "NodeNext",
      moduleDetection: "force",
      strict: true,
      exactOptionalPropertyTypes: true,
      verbatimModuleSyntax: true,
      noEmit: true,
      types: [],
    };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: [stubs] }));
    expect(run("tsc", ["-p", project])).toBe("");
  });

  it("make Rust modules of the packages", (context) => {
    rust.need(context);
    const stubs = generateByTemplate("rust");
    expect(filesBelow(stubs)).toEqual([
      "google/rpc/google.rpc.rs",
      "touchstone/v1/touchstone.v1.rs",
      "touchstone/v1/touchstone.v1.tonic.rs",
    ]);
    const code = readFileSync(join(stubs, "touchstone/v1/touchstone.v1.tonic.rs"), "utf8");
    expect(code).toContain("pub mod environment_service_server");
  });

  it("make Java with services", (context) => {
    java.need(context);
    const files = filesBelow(generateByTemplate("java"));
    expect(files).toContain("dev/touchstone/v1/SeedRequest.java");
    expect(files).toContain("dev/touchstone/v1/EnvironmentServiceGrpc.java");
    expect(files).toContain("build/buf/validate/FieldRules.java");
  });
});

// ALL-VER-002: no buf, nothing but -I proto -I vendor.
describe("bare protoc", () => {
  it("makes Python that imports", (context) => {
    const interpreter = python.need(context);
    expect(importAll(interpreter, generatePythonByProtoc(interpreter))).toEqual(IMPORTED);
  });

  it(
    "makes Go that the client compiles with",
    (context) => {
      const interpreter = python.need(context);
      const tools = go.need(context);
      const stubs = generateGoByProtoc(interpreter);
      const modules = join(repository, ".cache", "polyglot", "go-protoc.mod");
      const ours = readFileSync(join(clientInGo, "go.mod"), "utf8");
      writeFileSync(
        modules,
        ours.replace(/^replace (\S+) => .*$/m, (_line, module: string) => `replace ${module} => ${stubs}`),
      );
      writeFileSync(modules.replace(/mod$/, "sum"), readFileSync(join(clientInGo, "go.sum")));
      expect(run(tools.go, ["vet", `-modfile=${modules}`, "./..."], { cwd: clientInGo })).toBe("");
    },
    BUILD_TIMEOUT_MS,
  );
});
