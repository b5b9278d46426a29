import { expect, describe as group, it } from "vitest";
import { ServedEpisodes, told } from "./fixtures/served-episodes.js";

group("single_agent_turn", () => {
  it("orders and tells its calls as the contract says (EPI-RUN-002, EPI-DRV-006, EPI-EVT-001, EPI-E1-005, EPI-GATE-002)", async () => {
    await using episodes = await ServedEpisodes.start();
    const { verdict, events } = await episodes.run();
    expect(verdict?.reward?.value).toBe(0.5);
    const checks = episodes.order.slice(0, 3);
    expect(new Set(checks)).toEqual(new Set(["environment.describe", "agent.describe", "model.describe"]));
    expect(episodes.order.slice(3)).toEqual([
      "environment.seed",
      "model.openGateway",
      "agent.open",
      "agent.activate",
      "agent.close",
      "model.readCapture",
      "model.closeGateway",
      "environment.verify",
      "environment.close",
    ]);
    expect(told(events)).toEqual([
      ...[
        "accepted",
        "stage SEED",
        "intent world",
        "stage OPEN_GATEWAY",
        "intent toy",
        "stage OPEN",
        "intent loop",
      ],
      ...["stage ACTIVATE", "stage CLOSE_AGENT", "released loop", "stage CLOSE_GATEWAY", "released toy"],
      ...["stage VERIFY", "stage CLEAN_UP", "released world", "outcome"],
    ]);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, i) => BigInt(i + 1)));
  });
});
