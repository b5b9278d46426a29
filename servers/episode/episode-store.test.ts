import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import Database from "libsql";
import { pino } from "pino";
import { expect, describe as group, it } from "vitest";
import { Boundary, EpisodeService, FailureKind, Feature, Retry, Stage } from "../../gen/index.js";
import { BareClient } from "../../test/bare-client.js";
import { ManualClock } from "../../test/manual-clock.js";
import { bareStatus } from "../../test/scripted-peer.js";
import { temporaryFolder } from "../../test/temporary-folder.js";
import { loadConfig } from "../composition/load-config.js";
import { loadServers } from "../composition/load-servers.js";
import { startServers } from "../composition/start-servers.js";
import { Refusal } from "../runtime/refusal.js";
import { EpisodeStore } from "./episode-store.js";
import { KillableEpisodes } from "./fixtures/killable-episodes.js";
import { answered, hangingTurn, turn, verdict, verified } from "./fixtures/scripted-cast.js";
import { ServedEpisodes, told } from "./fixtures/served-episodes.js";

const file = () => join(temporaryFolder(), "episodes.sqlite");
/** Starting a process takes its time. */
const slow = 60_000;

group("Episodes outlive the process of their server (feature DURABLE, ALL-SCOPE-002)", () => {
  it("which stays the same instance, and says so", async () => {
    const records = file();
    const instances: (string | undefined)[] = [];
    for (let i = 0; i < 2; i += 1) {
      await using episodes = await ServedEpisodes.start({ records });
      const { message, instance } = await episodes.client.unary(EpisodeService.method.describe, {});
      expect(message?.service?.features).toContain(Feature.DURABLE);
      expect(message?.service?.instanceId).toBe(instance);
      instances.push(instance);
    }
    expect(instances[0]).toBe(instances[1]);
    await using other = await ServedEpisodes.start({ records: file() });
    expect((await other.client.unary(EpisodeService.method.describe, {})).instance).not.toBe(instances[0]);
  });

  it("outcomes replay, events and trajectory can be read, other content is a conflict", async () => {
    const records = file();
    const before = await ServedEpisodes.start({ records });
    const first = await before.run();
    const { records: trajectory } = await before.trajectory();
    await before[Symbol.asyncDispose]();

    await using episodes = await ServedEpisodes.start({ records });
    const again = await episodes.run();
    expect(again.events).toEqual(first.events);
    expect(again.delivery).toBe("replayed");
    expect((await episodes.attach(5n)).events).toEqual(first.events.slice(5));
    expect((await episodes.trajectory()).records).toEqual(trajectory);
    expect((await episodes.run({ envSeed: 7n })).error?.reason).toBe("OPERATION_CONFLICT");
    expect((await episodes.stop()).message?.alreadyStopped).toBe(true);
    expect(episodes.seen).toEqual([]);
  });

  it("what was acknowledged stays so", async () => {
    const records = file();
    const before = await ServedEpisodes.start({ records });
    const { outcome } = await before.run();
    await before.ack();
    const { events } = await before.run();
    await before[Symbol.asyncDispose]();

    await using episodes = await ServedEpisodes.start({ records });
    const again = await episodes.run();
    expect(again.events).toEqual(events);
    expect(again.outcome).toEqual(outcome);
    expect((await episodes.trajectory()).error?.reason).toBe("ANSWER_EXPIRED");
    expect((await episodes.ack()).message?.alreadyAcked).toBe(true);
  });

  it("the retention goes on where it was, and the name stays (ALL-KEEP-002, ALL-REPEAT-010)", async () => {
    const records = file();
    const before = await ServedEpisodes.start({ records });
    await before.run();
    await before.pass(1000);
    await before[Symbol.asyncDispose]();
    // The clock of a new process begins at the same time of day: closing took some of the ten minutes.
    const middle = await ServedEpisodes.start({ records });
    expect((await middle.run()).delivery).toBe("replayed");
    await middle.pass(600_000);
    expect((await middle.run()).error?.reason).toBe("ANSWER_EXPIRED");
    await middle[Symbol.asyncDispose]();

    await using episodes = await ServedEpisodes.start({ records });
    for (const { error } of [await episodes.run(), await episodes.attach(), await episodes.ack()]) {
      expect(error?.reason).toBe("ANSWER_EXPIRED");
    }
    expect(episodes.seen).toEqual([]);
  });

  it("what could not be released is remembered by the next process (EPI-E6-012)", async () => {
    const records = file();
    const before = await ServedEpisodes.start({ records });
    before.agent.script.close = async () => {
      throw new Refusal("PERMISSION", "not now");
    };
    const { outcome } = await before.run();
    expect(outcome?.cleanUps[0]?.released).toBe(false);
    await before[Symbol.asyncDispose]();

    await using episodes = await ServedEpisodes.start({ records });
    await episodes.run({ context: { episodeId: { rolloutId: "r1", attempt: 1 } } });
    expect(episodes.agent.requests("close")[0]?.sessionId).toBe(outcome?.cleanUps[0]?.resource?.id);
  });
});

group("SIGKILL of the episode server loses nothing", () => {
  it(
    "an episode that was going on is a failure that another attempt may cure; what it made is closed",
    async () => {
      await using episodes = await KillableEpisodes.start(file());
      episodes.agent.script.activate = (_request, call) => hangingTurn(call);
      const running = episodes.run();
      await episodes.agent.arrived("activate");
      await episodes.kill();
      expect((await running).error?.code).toBe("UNAVAILABLE");
      await episodes.restart();

      const joined = await episodes.run();
      const events = joined.messages.flatMap(({ event }) => event ?? []);
      // It was begun, so it is not begun again: its events go on where they were.
      expect(joined.delivery).not.toBe("started");
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, i) => BigInt(i + 1)));
      expect(told(events)).toEqual([
        ...["accepted", "stage SEED", "intent world", "stage OPEN_GATEWAY", "intent toy"],
        ...["stage OPEN", "intent loop", "stage ACTIVATE"],
        ...["released loop", "released toy", "released world", "outcome"],
      ]);
      const outcome = await episodes.outcome();
      expect(outcome?.outcome).toMatchObject({
        case: "failure",
        value: {
          kind: FailureKind.CANCELLED,
          retry: Retry.NEW_ATTEMPT,
          stage: Stage.ACTIVATE,
          causes: [{ boundary: Boundary.EPISODE }],
        },
      });
      expect(outcome?.cleanUps.map(({ resource, released }) => [resource?.binding, released])).toEqual([
        ["loop", true],
        ["toy", true],
        ["world", true],
      ]);
      expect(outcome?.task?.taskId?.id).toBe("q1");
      expect(outcome?.trajectory).toMatchObject({ records: 1n });
      expect(outcome?.trajectory?.missingReason).toContain("restarted");
      expect(episodes.environment.requests("close")[0]?.sessionId).toBe(
        episodes.environment.requests("seed")[0]?.sessionId,
      );
      expect(episodes.environment.count("seed")).toBe(1);

      // The next attempt is a new one.
      episodes.agent.script.activate = () => answered();
      const second = await episodes.run("r1", 1);
      const last = second.messages.at(-1)?.event?.event;
      expect(last?.case === "outcome" && last.value.outcome.case).toBe("verdict");
    },
    slow,
  );

  it(
    "what its peers do not release is told as left",
    async () => {
      await using episodes = await KillableEpisodes.start(file());
      episodes.agent.script.activate = (_request, call) => hangingTurn(call);
      void episodes.run();
      await episodes.agent.arrived("activate");
      await episodes.kill();
      episodes.agent.script.close = async () => {
        throw new Refusal("PERMISSION", "not now");
      };
      episodes.environment.script.close = async () => {
        throw bareStatus(Code.Unavailable);
      };
      await episodes.restart();
      const outcome = await episodes.outcome();
      expect(outcome?.cleanUps.map(({ resource, released }) => [resource?.binding, released])).toEqual([
        ["loop", false],
        ["toy", true],
        ["world", false],
      ]);
    },
    slow,
  );

  it(
    "a verdict that it had is not lost, though it was killed before its clean-ups were done (EPI-E3-001)",
    async () => {
      await using episodes = await KillableEpisodes.start(file());
      episodes.environment.script.verify = () => verified({ case: "verdict", value: verdict(0.75) });
      const { close } = episodes.environment.script;
      episodes.environment.script.close = () => new Promise(() => {});
      void episodes.run();
      await episodes.environment.arrived("close");
      await episodes.kill();
      if (close !== undefined) episodes.environment.script.close = close;
      await episodes.restart();
      const outcome = await episodes.outcome();
      expect(outcome?.outcome).toMatchObject({ case: "verdict", value: { reward: { value: 0.75 } } });
      expect(outcome?.agentEnds).toMatchObject([{ agentId: "agent", activations: 1 }]);
      expect(outcome?.participants).toHaveLength(3);
      expect(outcome?.cleanUps.map(({ resource, released }) => [resource?.binding, released])).toEqual([
        ["world", true],
        ["toy", true],
        ["loop", true],
      ]);
      expect(episodes.environment.count("verify")).toBe(1);
    },
    slow,
  );

  it(
    "again and again: killed while it cleans up, it goes on cleaning up",
    async () => {
      await using episodes = await KillableEpisodes.start(file());
      episodes.agent.script.activate = () =>
        turn({
          case: "failed",
          value: { failure: { kind: FailureKind.HARNESS_CRASHED, retry: Retry.NEVER, reason: "it broke" } },
        });
      const { close } = episodes.environment.script;
      episodes.environment.script.close = () => new Promise(() => {});
      void episodes.run();
      for (let i = 1; i <= 2; i += 1) {
        await episodes.environment.arrived("close", i);
        await episodes.kill();
        if (i === 2 && close !== undefined) episodes.environment.script.close = close;
        await episodes.restart();
      }
      const outcome = await episodes.outcome();
      // The failure that it had stays: what it says of attempts holds.
      expect(outcome?.outcome).toMatchObject({
        case: "failure",
        value: { kind: FailureKind.HARNESS_CRASHED, retry: Retry.NEVER },
      });
      expect(outcome?.cleanUps.every(({ released }) => released)).toBe(true);
    },
    slow,
  );
});

group("Records that take nothing more, as on a full disk", () => {
  /** A file in which a trigger lets the writes fail that `when` tells; `NEW` is the row. */
  const failing = (table: "episode" | "event", when: string): string => {
    const path = file();
    new EpisodeStore(path, new ManualClock()).close();
    const database = new Database(path);
    database.exec(
      `CREATE TRIGGER full BEFORE INSERT ON ${table} WHEN ${when} BEGIN SELECT RAISE(ABORT, 'disk is full'); END`,
    );
    database.close();
    return path;
  };
  const logged = () => {
    const lines: string[] = [];
    return { lines, log: pino({ level: "warn" }, { write: (line: string) => lines.push(line) }) };
  };
  const named = (rolloutId: string) => ({ context: { episodeId: { rolloutId } } });
  const oneAtOnce = { limits: { maxSessions: 1 }, timeouts: { queueMs: 0 } };

  it("take no place: an episode that cannot be written down is run, and the next one too (EPI-E4-004)", async () => {
    const { log, lines } = logged();
    await using episodes = await ServedEpisodes.start({
      records: failing("episode", "NEW.key = 'r1'"),
      log,
      ...oneAtOnce,
    });
    const first = await episodes.run();
    expect(first.verdict?.reward?.value).toBe(0.5);
    expect(first.outcome?.cleanUps.map(({ released }) => released)).toEqual([true, true, true]);
    expect((await episodes.run(named("r2"))).verdict).toBeDefined();
    const again = await episodes.run();
    expect(again.delivery).toBe("replayed");
    expect(again.events).toEqual(first.events);
    expect(lines.filter((line) => line.includes("disk is full"))).not.toEqual([]);
  });

  it("cost no verdict and no release in the middle of an episode, and are told once (EPI-E2-001, EPI-E2-005)", async () => {
    const { log, lines } = logged();
    await using episodes = await ServedEpisodes.start({
      records: failing("event", "NEW.sequence > 6"),
      log,
      ...oneAtOnce,
    });
    const { verdict, outcome, events } = await episodes.run();
    expect(verdict?.reward?.value).toBe(0.5);
    expect(outcome?.cleanUps.map(({ released }) => released)).toEqual([true, true, true]);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, i) => BigInt(i + 1)));
    const renewals = episodes.seen.length;
    await episodes.pass(120_000);
    expect(episodes.seen.length).toBe(renewals);
    expect(lines.map((line) => JSON.parse(line).err.message)).toEqual([
      expect.stringContaining("disk is full"),
    ]);
  });

  it("are caught up with once they take something again: nothing is missing then", async () => {
    // There is room again once a second episode has begun.
    const records = failing("event", "NEW.sequence > 6 AND (SELECT count(*) FROM episode) < 2");
    const before = await ServedEpisodes.start({ records });
    before.agent.script.activate = async function* (_request, call) {
      if (call.requestHeader.get("touchstone-key") === "r1") await before.run(named("r2"));
      yield* answered();
    };
    const first = await before.run();
    const { records: trajectory } = await before.trajectory();
    await before[Symbol.asyncDispose]();

    await using episodes = await ServedEpisodes.start({ records });
    expect((await episodes.run()).events).toEqual(first.events);
    expect((await episodes.trajectory()).records).toEqual(trajectory);
    expect((await episodes.run(named("r2"))).delivery).toBe("replayed");
    expect(episodes.seen).toEqual([]);
  });
});

group("The file of the records", () => {
  it("is read by nobody else, and belongs to one server", () => {
    const path = file();
    using _ = new EpisodeStore(path, new ManualClock());
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(() => new EpisodeStore(path, new ManualClock())).toThrow(/another server keeps its records here/);
  });

  it("can be used again once it is closed, and takes nothing any more", () => {
    const path = file();
    const store = new EpisodeStore(path, new ManualClock());
    store.close();
    store.close();
    store.expire("r1");
    using again = new EpisodeStore(path, new ManualClock());
    expect(again.instanceId).toBe(store.instanceId);
  });

  it("that is something else is refused", () => {
    const path = file();
    writeFileSync(path, "no database at all, but long enough to be looked at".repeat(20));
    expect(() => new EpisodeStore(path, new ManualClock())).toThrow(/expected records of an episode server/);
  });
});

group("A configuration", () => {
  it("names the file by `records`, from where it stands; two servers on one are refused", async () => {
    const folder = temporaryFolder({
      "c.yaml": "servers:\n  a: { episode: single_agent_turn, records: episodes.sqlite }\n",
      "two.yaml":
        "servers:\n  a: { episode: multi_turn, records: e.sqlite }\n  b: { episode: multi_turn, records: e.sqlite }\n",
    });
    const start = async (file: string) => {
      const config = await loadConfig(join(folder, file));
      return await startServers({
        config,
        loaded: await loadServers(config),
        log: pino({ level: "silent" }),
      });
    };
    const instances: (string | undefined)[] = [];
    for (let i = 0; i < 2; i += 1) {
      await using started = await start("c.yaml");
      const client = new BareClient(started.servers.get("a")?.address.url ?? "");
      instances.push((await client.unary(EpisodeService.method.describe, {})).instance);
      client.close();
    }
    expect(instances[0]).toMatch(/^i-/);
    expect(instances[1]).toBe(instances[0]);
    expect(statSync(join(folder, "episodes.sqlite")).isFile()).toBe(true);
    await expect(start("two.yaml")).rejects.toThrow(
      /servers\.b\.records: .*another server keeps its records here/,
    );
  });

  it("binds another episode server for external, and gives drivers their options", async () => {
    const folder = temporaryFolder({
      "c.yaml":
        "servers:\n  far: { episode: single_agent_turn }\n  near: { episode: external, options: { driver: single_agent_turn } }\n",
      "bad.yaml":
        "servers:\n  near: { episode: [multi_turn, external], options: { external: { servr: far } } }\n",
    });
    const config = await loadConfig(join(folder, "c.yaml"));
    await using started = await startServers({
      config,
      loaded: await loadServers(config),
      log: pino({ level: "silent" }),
    });
    const client = new BareClient(started.servers.get("near")?.address.url ?? "");
    const { messages } = await client.stream(EpisodeService.method.run, {
      context: { episodeId: { rolloutId: "r1" } },
      source: { case: "task", value: { taskId: { id: "q1" }, environment: "maths" } },
      environment: "maths",
      agents: [],
    });
    client.close();
    const last = messages.at(-1)?.event?.event;
    // It is `far` that knows no environment of this name.
    const failure =
      last?.case === "outcome" && last.value.outcome.case === "failure"
        ? last.value.outcome.value
        : undefined;
    expect(JSON.parse(failure?.detailsJson ?? "{}")).toMatchObject({
      refused: "NAME_UNKNOWN",
      fields: ["environment"],
    });
    const bad = await loadConfig(join(folder, "bad.yaml"));
    await expect(loadServers(bad)).rejects.toThrow(
      /options\.external\.servr: unknown key; did you mean "server"/,
    );
  });
});
