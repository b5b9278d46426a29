import { create } from "@bufbuild/protobuf";
import { pino } from "pino";
import { expect, describe as group, it } from "vitest";
import { Boundary, CloseReceiptSchema, ResourceIntentSchema, Stage } from "../../gen/index.js";
import { ManualClock } from "../../test/manual-clock.js";
import { CleanUpStack } from "./clean-up-stack.js";
import { ServedEpisodes } from "./fixtures/served-episodes.js";

group("Nothing that is told of a clean-up keeps the rest from it (EPI-E2-001, EPI-E2-005)", () => {
  it("whoever is told of a release may throw: the log has it, everything is released", async () => {
    const lines: string[] = [];
    const closed: string[] = [];
    const stack = new CleanUpStack({
      clock: new ManualClock(),
      log: pino({ level: "error" }, { write: (line: string) => lines.push(line) }),
      timeoutMs: 1000,
      onIntent: () => {},
      onReleased({ id }) {
        throw new Error(`no room for ${id}`);
      },
    });
    for (const id of ["a", "b"]) {
      stack.own({
        intent: create(ResourceIntentSchema, { id }),
        boundary: Boundary.ENVIRONMENT,
        async release() {
          closed.push(id);
          return create(CloseReceiptSchema, { cleanupConfirmed: true });
        },
      });
    }
    await stack.releaseAll();
    expect(closed).toEqual(["b", "a"]);
    expect(stack.results.map(({ released }) => released)).toEqual([true, true]);
    expect(lines.map((line) => JSON.parse(line).err.message)).toEqual(["no room for b", "no room for a"]);
  });

  it("what watches an episode may throw where its clean-up begins: it is done all the same", async () => {
    await using episodes = await ServedEpisodes.start({
      watch: {
        begin: () => ({
          headers: {},
          stage({ stage }) {
            if (stage === Stage.CLEAN_UP) throw new Error("no");
          },
          end() {},
          refused() {},
        }),
      },
    });
    expect((await episodes.run()).outcome?.outcome.case).toBe("failure");
    const closes = ["agent.close", "model.closeGateway", "environment.close"];
    expect(episodes.order.filter((call) => closes.includes(call))).toEqual(closes);
    const before = episodes.seen.length;
    await episodes.pass(120_000);
    expect(episodes.seen.length).toBe(before);
  });
});
