import { expect, it } from "vitest";
import { OperationFailure } from "../servers/runtime/failure.js";
import { faultLines } from "./fault-lines.js";

it("tells each distinct fault once, where in the author's code it broke, and at the end how often", () => {
  const lines: string[] = [];
  {
    using faults = faultLines((line) => lines.push(line));
    for (let i = 0; i < 3; i += 1) {
      const cause = Object.assign(new TypeError("x is no function"), {
        stack:
          "TypeError: x is no function\n    at node:internal/x:1:1\n    at step (/somewhere/world.ts:12:5)",
      });
      const err = new Error('tool "look" broke', { cause });
      faults.tell({ server: "world", what: "step", session: `s${i}`, err });
    }
    faults.tell({ server: "world", what: "Seed", session: "s9", err: "text" });
  }
  const fault = 'world: step broke: tool "look" broke: x is no function at /somewhere/world.ts:12';
  expect(lines).toEqual([
    `${fault} (first in s0)`,
    "world: Seed broke: text (first in s9)",
    `3 times: ${fault}`,
  ]);
});

it("tells whatever was thrown", () => {
  const lines: string[] = [];
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error("no");
      },
      getPrototypeOf: () => {
        throw new Error("no");
      },
    },
  );
  using faults = faultLines((line) => lines.push(line));
  faults.tell({ err: hostile });
  // What another server failed with is told by that server.
  faults.tell({ server: "episodes", episode: "e", err: new OperationFailure({ reason: "broke there" }) });
  faults.tell({ rpc: "S/M", err: new Error("") });
  faults.tell({ rpc: "S/N", err: undefined });
  faults.tell({ rpc: "S/O", err: "x".repeat(1_000_000) });
  const stack = "Error: far\n    at f (file://elsewhere/world.ts:1:1)\n    at g (/somewhere/world.ts:2:1)";
  faults.tell({ rpc: "S/P", err: Object.assign(new Error("far"), { stack }) });
  expect(lines).toEqual([
    "a server: work broke: something that cannot be shown",
    "a server: S/M broke: an error without words",
    "a server: S/N broke: an error without words",
    `a server: S/O broke: ${"x".repeat(500)}... (1000000 characters)`,
    "a server: S/P broke: far at /somewhere/world.ts:2",
  ]);
});

it("counts what is more than anybody reads", () => {
  const lines: string[] = [];
  {
    using faults = faultLines((line) => lines.push(line));
    for (let i = 0; i < 60; i += 1) faults.tell({ err: `fault ${i}` });
  }
  expect(lines).toHaveLength(51);
  expect(lines.at(-1)).toMatch(/^10 more faults/);
});
