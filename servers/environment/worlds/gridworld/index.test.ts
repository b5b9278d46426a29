import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type AgentOutcome, BlockSchema, ElementType, type StepResponse } from "../../../../gen/index.js";
import { assistantMessage, textOf } from "../../../runtime/items.js";
import { PlayedWorld } from "../fixtures/played-world.js";
import { gridworld } from "./index.js";

const serve = (observe: "text" | "tensors" = "text") => PlayedWorld.serve(gridworld({ observe }));

const task = (
  map: readonly string[],
  { slippery = false, maxSteps }: { slippery?: boolean; maxSteps?: number } = {},
) => ({
  taskId: { id: "t" },
  environment: "gridworld",
  publicJson: JSON.stringify({ map, slippery }),
  ...(maxSteps === undefined ? {} : { limits: { maxSteps } }),
});

const outcomeOf = (response: StepResponse | undefined): AgentOutcome | undefined => response?.outcomes[0];
const seen = (response: StepResponse | undefined): string =>
  (outcomeOf(response)?.observation?.items ?? [])
    .map(({ kind }) =>
      kind.case === "chatMessage" || kind.case === "toolResult" ? textOf(kind.value.content) : "",
    )
    .join("|");

const tensor = (direction: number) => {
  const data = new Uint8Array(8);
  new DataView(data.buffer).setBigInt64(0, BigInt(direction), true);
  const value = { name: "direction", elementType: ElementType.INT64, shape: [], data };
  const blocks = [create(BlockSchema, { kind: { case: "tensor", value } })];
  return { case: "content" as const, value: { blocks } };
};

const tensors = (outcome: Pick<AgentOutcome, "observation"> | undefined) =>
  outcome?.observation?.content.map(({ kind }) =>
    kind.case === "tensor" ? [kind.value.name, kind.value.shape.map(Number), [...kind.value.data]] : [],
  );

describe("gridworld", () => {
  it("is walked by tool calls, by words and by tensors alike", async () => {
    await using world = await serve("tensors");
    const walk = await world.begin(task(["SFF", "HFG"]));
    expect(tensors(walk.session.agents[0])).toEqual([
      ["cell", [], [0, 0, 0, 0, 0, 0, 0, 0]],
      ["lake", [2, 3], [0, 1, 1, 2, 1, 3]],
    ]);
    const called = await walk.call("move", { direction: "right" });
    expect(seen(called.message)).toBe("S@F\nHFG");
    const said = await walk.say(assistantMessage("I go Right."));
    expect(seen(said.message)).toBe("SF@\nHFG");
    const acted = await walk.act(tensor(1));
    expect(tensors(outcomeOf(acted.message))?.[0]).toEqual(["cell", [], [5, 0, 0, 0, 0, 0, 0, 0]]);
    expect(acted.message).toMatchObject({ terminated: true, truncated: false, nextAgents: [] });
    expect(walk.rewards).toEqual([0, 0, 1]);
    expect(await walk.verify()).toMatchObject({
      reward: { value: 1 },
      success: true,
      stepRewardIncluded: true,
    });
  });

  it("terminates in a hole, and is truncated by max_steps (ENV-STEP-005)", async () => {
    await using world = await serve();
    const fallen = await world.begin(task(["SFF", "HFG"]));
    const hole = await fallen.call("move", { direction: "down" });
    expect(hole.message).toMatchObject({ terminated: true, truncated: false });
    expect((await fallen.verify()).reward?.value).toBe(0);
    const slow = await world.begin(task(["SFF", "HFG"], { maxSteps: 2 }));
    await slow.call("move", { direction: "up" });
    const last = await slow.call("move", { direction: "left" });
    expect(last.message).toMatchObject({ terminated: false, truncated: true });
    expect((await slow.call("move", { direction: "up" })).error?.reason).toBe("EPISODE_ENDED");
    // At the goal with the last step: the world's own end comes first.
    const close = await world.begin(task(["SG"], { maxSteps: 1 }));
    expect((await close.call("move", { direction: "right" })).message).toMatchObject({
      terminated: true,
      truncated: false,
    });
  });

  it("field-case-011: words that name no direction move neither agent nor ice", async () => {
    await using world = await serve();
    const lake = task(["SFFF", "FFFF", "FFFG"], { slippery: true });
    const plain = await world.begin(lake);
    const chatty = await world.begin(lake);
    const said = await chatty.say(assistantMessage("left or right?"));
    expect(seen(said.message)).toBe("Say one of left, down, right and up.");
    expect((await chatty.call("move", { direction: "north" })).error).toMatchObject({
      code: "INVALID_ARGUMENT",
      fields: ["actions[0].tool_call.arguments_json.direction"],
    });
    expect((await chatty.call("jump", {})).error?.reason).toBe("UNKNOWN_TOOL");
    for (const direction of ["right", "down", "right"]) {
      expect(seen((await chatty.call("move", { direction })).message)).toBe(
        seen((await plain.call("move", { direction })).message),
      );
    }
  });

  it("slips as its seed has it, in a fork as in its source (ENV-SEED-006, ENV-SEED-007, ENV-FORK-001)", async () => {
    await using world = await serve();
    const lake = task(["SFFFF", "FFFFF", "FFFFF", "FFFFG"], { slippery: true });
    const way = async (walk: Awaited<ReturnType<typeof world.begin>>, moves = 6): Promise<string[]> => {
      const pictures: string[] = [];
      for (let i = 0; i < moves; i += 1) {
        const { message } = await walk.call("move", { direction: i % 2 === 0 ? "down" : "up" });
        pictures.push(seen(message));
      }
      return pictures;
    };
    const first = await way(await world.begin(lake, 1n));
    expect(await way(await world.begin(lake, 1n))).toEqual(first);
    expect(await way(await world.begin(lake, 2n))).not.toEqual(first);
    const source = await world.begin(lake, 1n);
    await way(source, 2);
    const copy = await source.fork();
    const rest = await way(copy, 4);
    expect(rest).toEqual(first.slice(2));
    await copy.close();
    expect(await way(source, 4)).toEqual(rest);
  });

  it("refuses a lake that is none, by its path (ENV-SEED-004)", async () => {
    await using world = await serve();
    const refused = await world.begin(task(["SH", "HG"])).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      refused: { reason: "INVALID_FIELD", fields: ["task.public_json.map"] },
    });
  });
});
