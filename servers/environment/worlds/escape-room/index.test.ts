import { describe, expect, it } from "vitest";
import { textOf } from "../../../runtime/items.js";
import { PlayedWorld } from "../fixtures/played-world.js";
import { hidden } from "../hidden-data.js";
import { escapeRoom } from "./index.js";
import { randomRooms } from "./rooms.js";

const rooms = {
  cell: { scene: "SCENE-CELL", answer: "red" },
  library: { scene: "SCENE-LIBRARY", answer: "Maps" },
  vault: { scene: "SCENE-VAULT", answer: "41" },
};
const task = { taskId: { id: "t" }, environment: "escape-room", privileged: hidden({ rooms }) };
const serve = () => PlayedWorld.serve(escapeRoom({ tries: 2 }));

describe("escape-room", () => {
  it("goes from room to room, each with its input, its tools and its reward (ENV-STAG-002, -004, -006)", async () => {
    await using world = await serve();
    const visit = await world.begin(task);
    expect(visit.session.stages.map(({ name }) => name)).toEqual(["cell", "library", "vault"]);
    const earned: unknown[] = [];
    const inputs: string[] = [];
    const tools: unknown[] = [];
    const ways: [string, object][] = [
      ["turn_key", { colour: "RED" }],
      ["pull_book", { title: "maps" }],
      ["dial", { number: 41 }],
    ];
    for (const [stage, [name, args]] of ways.entries()) {
      if (stage > 0) {
        const [item] = await visit.advance();
        if (item?.kind.case === "chatMessage") inputs.push(textOf(item.kind.value.content));
      }
      tools.push(visit.tools.get("agent"));
      expect((await visit.call(name, args)).message).toMatchObject({ terminated: true });
      const { reward, stage: verdict, success } = await visit.verify({}, { final: stage === 2 });
      earned.push([reward?.value, verdict?.stageReward?.value, verdict?.episodeOver, success]);
    }
    expect(earned).toEqual([
      [1 / 3, 1, false, false],
      [2 / 3, 1, false, false],
      [1, 1, true, true],
    ]);
    expect(inputs.map((text) => /a (\w+)\./.exec(text)?.[1])).toEqual(["library", "vault"]);
    expect(tools).toEqual([
      ["look", "turn_key"],
      ["look", "pull_book"],
      ["look", "dial"],
    ]);
  });

  it("ends where a room is not left, and tells no room before it begins", async () => {
    await using world = await serve();
    const visit = await world.begin(task);
    await visit.call("look", {});
    await visit.call("turn_key", { colour: "blue" });
    const last = await visit.call("turn_key", { colour: "green" });
    expect(last.message).toMatchObject({ terminated: true });
    const { reward, stage } = await visit.verify({}, { final: false });
    expect([reward?.value, stage?.stageReward?.value, stage?.episodeOver]).toEqual([0, 0, true]);
    await expect(visit.advance()).rejects.toThrow("EPISODE_ENDED");
    expect(world.told.join()).toContain("SCENE-CELL");
    expect(world.told.join()).not.toMatch(/SCENE-LIBRARY|SCENE-VAULT|Maps/);
  });

  it("counts wrong tries at each door by itself", async () => {
    await using world = await serve();
    const visit = await world.begin(task);
    await visit.call("turn_key", { colour: "blue" });
    await visit.call("turn_key", { colour: "red" });
    await visit.verify({}, { final: false });
    await visit.advance();
    expect((await visit.call("pull_book", { title: "Stars" })).message?.terminated).toBe(false);
    expect((await visit.call("pull_book", { title: "Maps" })).message?.terminated).toBe(true);
  });

  it("has riddles whose scenes name their answers among others", () => {
    for (let seed = 0n; seed < 30n; seed += 1n) {
      const { cell, library, vault } = randomRooms(seed);
      expect(cell.scene.split('"')[0]).toContain(cell.answer);
      expect(cell.scene.split('"')[1]).not.toContain(cell.answer);
      expect(library.scene).toContain(library.answer);
      expect(vault.scene).not.toContain(vault.answer);
    }
  });
});
