import { describe, expect, it } from "vitest";
import { EnvironmentService, type StepResponse } from "../../../../gen/index.js";
import { textOf } from "../../../runtime/items.js";
import { PlayedWorld } from "../fixtures/played-world.js";
import { hidden } from "../hidden-data.js";
import { workbench } from "./index.js";
import type { OfficeContents } from "./office.js";

const office: OfficeContents = {
  mails: [
    {
      id: 4,
      sender: "ana@office.example",
      recipient: "me@office.example",
      subject: "100% broken",
      body: "Help.",
      folder: "inbox",
    },
  ],
  events: [{ id: 1, title: "Launch", day: "2030-05-10", start: "09:00", attendees: "" }],
  tickets: Array.from({ length: 10 }, (_, i) => ({
    id: i + 1,
    title: `Ticket ${i + 1}`,
    status: "open" as const,
    priority: "low" as const,
    assignee: "bo@office.example",
  })),
};
const closeTicket = (id: number) => ({ tool: "update_ticket", args: { id, status: "closed" } });

const task = (
  solution: readonly object[] = [
    closeTicket(1),
    {
      tool: "send_mail",
      args: { to: "ana@office.example", subject: "Re: 100% broken", body: "HIDDEN-WORDS" },
    },
  ],
) => ({ taskId: { id: "t" }, environment: "workbench", privileged: hidden({ office, solution }) });

const resultOf = (message: StepResponse | undefined) => {
  const kind = message?.outcomes[0]?.observation?.items[0]?.kind;
  if (kind?.case !== "toolResult") throw new Error("no result");
  return { error: kind.value.isError, text: textOf(kind.value.content), json: kind.value.structuredJson };
};

const serve = () => PlayedWorld.serve(workbench({}));

describe("workbench", () => {
  it("rewards calls by what they bring right, once, and the final state apart (HYBRID)", async () => {
    await using world = await serve();
    const work = await world.begin(task());
    await work.call("search_tickets", { text: "Ticket 1", status: "open" });
    await work.call("update_ticket", { id: 1, status: "closed" });
    await work.call("update_ticket", { id: 1, status: "open" });
    await work.call("update_ticket", { id: 1, status: "closed" });
    expect(work.rewards[0]).toBe(0);
    expect(work.rewards.slice(2)).toEqual([0, 0]);
    const half = await work.verify({}, { final: false });
    expect(half).toMatchObject({ success: false, stepRewardIncluded: true });
    expect(half.reward?.value).toBe(work.rewards[1]);
    // The words of a mail are the agent's own.
    await work.call("send_mail", { to: "ana@office.example", subject: "Re: 100% broken", body: "Soon." });
    expect(await work.verify()).toMatchObject({
      reward: { value: 1 },
      success: true,
      components: { progress: 1, state: 1 },
    });
    expect(work.rewards.reduce<number>((sum, reward) => sum + (reward ?? 0), 0)).toBeCloseTo(0.5);
  });

  it("names the tables that differ, and nothing of what should be in them", async () => {
    await using world = await serve();
    const work = await world.begin(task());
    await work.playReference();
    await work.call("move_event", { id: 1, day: "2031-01-01", start: "10:00" });
    const verdict = await work.verify();
    expect(verdict.reward?.value).toBe(0.5);
    expect(JSON.parse(verdict.diagnosticsJson)).toEqual({ differs: ["events"] });
    // The agent's own words were never compared, and those of the solution are nowhere.
    const untouched = await world.begin(task());
    const { diagnosticsJson, reward } = await untouched.verify();
    expect([reward?.value, diagnosticsJson]).toEqual([0, '{"differs":["mails","tickets"]}']);
    expect(world.told.join()).not.toContain("HIDDEN-WORDS");
  });

  it("takes parallel calls by action_id: each runs once, under an index of its own (ENV-STEP-019)", async () => {
    await using world = await serve();
    const work = await world.begin(task(office.tickets.map(({ id }) => closeTicket(id))));
    const { step } = EnvironmentService.method;
    const call = (id: number, times: number) =>
      Array.from({ length: times }, () =>
        world.client.unary(step, {
          sessionId: work.sessionId,
          name: { case: "actionId", value: `tool-use-${id}` },
          actions: [
            {
              agentId: "agent",
              kind: {
                case: "toolCall",
                value: {
                  callId: `tool-use-${id}`,
                  name: "update_ticket",
                  argumentsJson: `{"id":${id},"status":"closed"}`,
                },
              },
            },
          ],
        }),
      );
    const answers = await Promise.all(office.tickets.flatMap(({ id }) => call(id, 2)));
    const indexes = answers.map(({ message }) => message?.stepIndex ?? -1);
    expect([...new Set(indexes)].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const rewards = new Map(
      answers.map(({ message }) => [message?.stepIndex, message?.outcomes[0]?.reward?.value ?? 0]),
    );
    expect([...rewards.values()].reduce((sum, reward) => sum + reward, 0)).toBeCloseTo(0.5);
    expect((await work.verify()).reward?.value).toBe(1);
  });

  it("tells the agent what is not there, and finds what it looks for literally (ENV-STEP-013)", async () => {
    await using world = await serve();
    const work = await world.begin(task());
    expect(resultOf((await work.call("read_mail", { id: 9 })).message)).toMatchObject({
      error: true,
      text: "there is no mail 9",
    });
    expect(
      resultOf((await work.call("move_event", { id: 9, day: "2030-01-01", start: "10:00" })).message),
    ).toEqual({
      error: true,
      text: "there is no event 9",
      json: "",
    });
    const found = resultOf((await work.call("search_mail", { text: "100%" })).message);
    expect(JSON.parse(found.json)).toMatchObject({ found: [{ id: 4 }] });
    const none = resultOf((await work.call("search_mail", { text: "1%n" })).message);
    expect(JSON.parse(none.json)).toEqual({ found: [] });
    const injected = await work.call("search_tickets", { text: "'; DROP TABLE tickets; --" });
    expect(JSON.parse(resultOf(injected.message).json)).toEqual({ found: [] });
    expect(await work.call("move_event", { id: 1, day: "tomorrow", start: "10:00" })).toMatchObject({
      error: { code: "INVALID_ARGUMENT", fields: ["actions[0].tool_call.arguments_json.day"] },
    });
  });

  it("forks the database with all that is in it, and shares nothing (ENV-FORK-002)", async () => {
    await using world = await serve();
    const source = await world.begin(task());
    await source.call("update_ticket", { id: 1, status: "closed" });
    const copy = await source.fork();
    await source.call("update_ticket", { id: 1, status: "open" });
    const mail = { to: "ana@office.example", subject: "Re: 100% broken", body: "" };
    await copy.call("send_mail", mail);
    expect((await copy.verify()).reward?.value).toBe(1);
    await copy.close();
    await source.call("send_mail", mail);
    expect(JSON.parse((await source.verify()).diagnosticsJson)).toEqual({ differs: ["tickets"] });
  });

  it("refuses a solution that cannot be run or changes nothing, without repeating it", async () => {
    await using world = await serve();
    const refused = async (solution: readonly object[]) =>
      await world.begin(task(solution)).catch((error: unknown) => error);
    expect(await refused([closeTicket(1), closeTicket(99)])).toMatchObject({
      refused: { reason: "INVALID_FIELD", fields: ["task.privileged.solution[1]"] },
    });
    expect(await refused([{ tool: "toString", args: {} }])).toMatchObject({
      refused: { fields: ["task.privileged.solution[0]"] },
    });
    expect(await refused([{ tool: "search_mail", args: {} }])).toMatchObject({
      refused: { fields: ["task.privileged.solution"] },
    });
  });
});
