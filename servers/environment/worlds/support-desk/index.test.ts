import { describe, expect, it } from "vitest";
import { type StepResponse, StopReason } from "../../../../gen/index.js";
import { assistantMessage, textOf } from "../../../runtime/items.js";
import { type PlayedSession, PlayedWorld } from "../fixtures/played-world.js";
import { hidden } from "../hidden-data.js";
import { supportDesk } from "./index.js";

const rules = { identity_first: true, refund_days: 14, max_turns: 3, stop_phrase: "###STOP###" };

const task = (days: number, change: Partial<typeof rules> = {}) => ({
  taskId: { id: "t" },
  environment: "support-desk",
  publicJson: JSON.stringify({ ...rules, ...change }),
  privileged: hidden({
    customer: { name: "Ana", postcode: "POSTCODE-1010", manner: "You are PRIVATELY-FURIOUS." },
    wants: { action: "refund", order: "A-1" },
    orders: [
      { id: "A-1", customer: "Ana", item: "lamp", status: "delivered", days_since_delivery: days },
      { id: "B-2", customer: "Bo", item: "rug", status: "processing" },
    ],
    canary: "CANARY-desk",
  }),
});

const serve = () => PlayedWorld.serve(supportDesk({}));
const customer = (session: PlayedSession, text: string) => session.say(assistantMessage(text), "customer");
const assistant = (session: PlayedSession, text: string) => session.say(assistantMessage(text), "assistant");
const call = (session: PlayedSession, name: string, args: object) => session.call(name, args, "assistant");

/** What an agent was shown by a step. */
const shown = (message: StepResponse | undefined, agentId: string): string | undefined => {
  const item = message?.outcomes.find((outcome) => outcome.agentId === agentId)?.observation?.items[0];
  return item?.kind.case === "chatMessage" ? textOf(item.kind.value.content) : undefined;
};

describe("support-desk", () => {
  it("lets the two take turns and hear each other; tools are the assistant's, in its turn (ENV-MULT-003)", async () => {
    await using world = await serve();
    const desk = await world.begin(task(3));
    expect(desk.session.nextAgents).toEqual(["customer"]);
    expect(desk.tools.get("customer")).toEqual([]);
    expect((await call(desk, "find_orders", { name: "Ana" })).error?.reason).toBe("OUT_OF_TURN");
    const asked = await customer(desk, "My lamp, please.");
    expect(shown(asked.message, "assistant")).toBe("My lamp, please.");
    expect(asked.message?.nextAgents).toEqual(["assistant"]);
    expect((await customer(desk, "Hello?")).error?.reason).toBe("OUT_OF_TURN");
    expect((await call(desk, "find_orders", { name: "Ana" })).message?.nextAgents).toEqual(["assistant"]);
    const silent = await desk.act({ case: "items", value: { items: [] } }, "assistant");
    expect(shown(silent.message, "customer")).toBe("(says nothing)");
    const done = await customer(desk, "Thank you. ###STOP###");
    expect(done.message).toMatchObject({ terminated: true, truncated: false, nextAgents: [] });
  });

  it("shows each its own input only: the customer's is nothing to the assistant (ALL-PRIV-005)", async () => {
    await using world = await serve();
    const desk = await world.begin(task(3));
    const [forAssistant, forCustomer] = desk.session.agents.map((view) => JSON.stringify(view.input));
    expect(forCustomer).toMatch(/Ana.*A-1.*POSTCODE-1010/s);
    expect(forAssistant).toContain("at most 14 days");
    expect(forAssistant).not.toMatch(/Ana|A-1|POSTCODE|FURIOUS/);
    world.told.length = 0;
    await customer(desk, "Hello.");
    await call(desk, "check_identity", { name: "Ana", postcode: "?" });
    await call(desk, "find_orders", { name: "Ana" });
    await call(desk, "refund_order", { order_id: "C-3" });
    await assistant(desk, "Wait.");
    await desk.verify();
    expect(world.told.join()).not.toMatch(/POSTCODE|FURIOUS|CANARY/);
  });

  it("gives the whole reward for the rightful outcome by the policies, whatever was said", async () => {
    await using world = await serve();
    for (const days of [14, 15]) {
      const desk = await world.begin(task(days));
      await customer(desk, "I want a refund.");
      await desk.playReference("assistant");
      await assistant(desk, "Bye.");
      await customer(desk, "###STOP###");
      expect(await desk.verify()).toMatchObject({
        reward: { value: 1 },
        agentRewards: { assistant: { value: 1 } },
        success: true,
      });
    }
  });

  it.each([
    [
      "identity_first",
      [
        ["refund_order", { order_id: "A-1" }],
        ["close_case", { outcome: "refunded" }],
      ],
      3,
    ],
    [
      "refund",
      [
        ...identify(),
        ["refund_order", { order_id: "A-1" }],
        ["close_case", { outcome: "declined_too_late" }],
      ],
      15,
    ],
    ["others_orders", [...identify(), ["cancel_order", { order_id: "B-2" }]], 3],
  ] as const)("gives nothing where a policy was broken: %s", async (policy, calls, days) => {
    await using world = await serve();
    const desk = await world.begin(task(days));
    await customer(desk, "I want a refund.");
    for (const [name, args] of calls) expect((await call(desk, name, args)).error).toBeUndefined();
    const verdict = await desk.verify();
    expect(verdict).toMatchObject({ reward: { value: 0 }, success: false, components: { policy: 0 } });
    expect(JSON.parse(verdict.diagnosticsJson)).toMatchObject({ broken: [policy] });
  });

  it("gives nothing for nothing, also where declining is right", async () => {
    await using world = await serve();
    const desk = await world.begin(task(15));
    await customer(desk, "I want a refund.");
    await assistant(desk, "");
    await customer(desk, "###STOP###");
    const verdict = await desk.verify();
    expect(verdict.masked).toBeUndefined();
    expect(verdict).toMatchObject({ reward: { value: 0 }, components: { files: 1, outcome: 0, policy: 1 } });
  });

  it("cuts the conversation after the task's turns", async () => {
    await using world = await serve();
    const desk = await world.begin(task(3, { max_turns: 2, stop_phrase: "enough" }));
    await customer(desk, "###STOP###");
    await assistant(desk, "Pardon?");
    await customer(desk, "Please.");
    expect((await assistant(desk, "No.")).message).toMatchObject({ terminated: false, truncated: true });
    const other = await world.begin(task(3, { stop_phrase: "enough" }));
    expect((await customer(other, "That is enough!")).message?.terminated).toBe(true);
  });

  it("masks what it measures where the customer was not played: that is not the assistant's score", async () => {
    await using world = await serve();
    const silent = await world.begin(task(3));
    expect((await silent.verify()).masked?.reason).toBe("customer_silent");
    const failed = await world.begin(task(3));
    await customer(failed, "I want a refund.");
    const end = {
      agentId: "customer",
      activations: 1,
      failure: { reason: "lost" },
      stopReason: StopReason.UNSPECIFIED,
    };
    const verdict = await failed.verify({ agents: [{ agentId: "customer", agentEnd: end }] });
    expect(verdict).toMatchObject({ masked: { reason: "customer_failed" }, reward: { value: 0 } });
  });
});

function identify() {
  return [["check_identity", { name: "Ana", postcode: "POSTCODE-1010" }]] as const;
}
