import { describe, expect, it } from "vitest";
import { loadPoint, pointNames } from "./index.js";

describe("points", () => {
  it.each(pointNames)("%s: two sessions step side by side, begin anew and end", async (name) => {
    const point = await loadPoint(name);
    const server = await point.serve?.();
    try {
      const open = await point.connect(server?.address ?? "-", 2);
      const sessions = [await open(), await open()];
      for (const session of sessions) await session.reset();
      for (let i = 0; i < 5; i += 1) {
        expect(await Promise.all(sessions.map((session) => session.step()))).toEqual([false, false]);
      }
      for (const session of sessions) await session.reset();
      expect(await sessions[0]?.step()).toBe(false);
      for (const session of sessions) await session.close();
      if (server?.live !== undefined) expect(server.live()).toBe(0);
    } finally {
      await server?.close();
    }
  });

  it.each(["step", "step-stream"] as const)("%s: an episode is over after 1000 steps", async (name) => {
    const point = await loadPoint(name);
    const server = await point.serve?.();
    try {
      const session = await (await point.connect(server?.address ?? "-", 1))();
      await session.reset();
      const over: boolean[] = [];
      for (let i = 0; i < 1000; i += 1) over.push(await session.step());
      expect(over.indexOf(true)).toBe(999);
      await expect(session.step()).rejects.toThrow("over");
      await session.reset();
      expect(await session.step()).toBe(false);
      await session.close();
    } finally {
      await server?.close();
    }
  });

  it("does not know other names", async () => {
    await expect(loadPoint("nothing")).rejects.toThrow("found nothing");
  });
});
