import { describe, expect, it } from "vitest";
import { readCpuProfile } from "./cpu-profile.js";
import { fileOf, partOf } from "./part-of.js";
import { dominantParts, profileText } from "./profile-text.js";

const frame = (id: number, functionName: string, url = "", lineNumber = -1) => ({
  id,
  callFrame: { functionName, url, lineNumber },
});
const ledger = "file:///x/dist/servers/runtime/ledger.js";
const protobuf = "file:///x/node_modules/@bufbuild/protobuf/dist/esm/to-binary.js";
const text = JSON.stringify({
  nodes: [
    frame(1, "(idle)"),
    frame(2, "perform", ledger, 9),
    frame(3, "toBinary", protobuf, 4),
    frame(4, "perform", ledger, 9),
    frame(5, "(garbage collector)"),
  ],
  startTime: 1_000_000,
  samples: [2, 1, 2, 3, 4, 5, 3],
  timeDeltas: [3000, 5000, 100, 500, 200, 200, 900],
});

describe("a profile", () => {
  it("is self time of a span over the time that was not idle, equal functions together", () => {
    const profile = readCpuProfile(text, { from: 1_003_001, to: 1_009_000 });
    expect(profile.busySeconds).toBeCloseTo(0.001);
    expect(profile.seconds).toBeCloseTo(0.006);
    expect(profile.functions.map(({ name, line, share }) => [name, line, share])).toEqual([
      ["toBinary", 5, 0.5],
      ["perform", 10, expect.closeTo(0.3)],
      ["(garbage collector)", 0, expect.closeTo(0.2)],
    ]);
    const rates = { open: 1, emptyMegabytes: 1, megabytes: 1, growthMegabytes: 1 };
    const watched = { point: "step", side: "server", sessions: 1, rates, profile } as const;
    expect(dominantParts(watched)).toBe(
      "@bufbuild/protobuf 50.0 %, servers/runtime 30.0 %, garbage collector 20.0 %",
    );
    expect(profileText(watched)).toMatch(
      /@bufbuild\/protobuf +50\.0\nservers\/runtime +30\.0\ngarbage collector +20\.0/,
    );
  });

  it("tells parts and files apart", () => {
    const parts = {
      [ledger]: ["servers/runtime", "servers/runtime/ledger.js"],
      "file:///x/dist/servers/runtime/grpc/grpc-call.js": [
        "servers/runtime/grpc",
        "servers/runtime/grpc/grpc-call.js",
      ],
      "file:///x/dist/servers/environment/step.js": ["servers/environment", "servers/environment/step.js"],
      "file:///x/dist/clients/channel/call.js": ["clients/channel", "clients/channel/call.js"],
      "node:internal/http2/core": ["node:http2", "node:internal/http2/core"],
      "node:internal/streams/writable": ["node:stream and node:net", "node:internal/streams/writable"],
      "/x/node_modules/ws/lib/sender.js": ["ws", "ws/lib/sender.js"],
    };
    for (const [url, found] of Object.entries(parts)) {
      expect([partOf({ name: "f", url }), fileOf({ url })]).toEqual(found);
    }
    expect(partOf({ name: "(program)", url: "" })).toBe("native code and system calls");
    expect(partOf({ name: "writev", url: "" })).toBe("native functions");
  });
});
