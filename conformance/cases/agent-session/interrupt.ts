import { Feature, StopReason } from "../../../gen/index.js";
import { calls, says } from "../../peers/scripted-model.js";
import { agentCheck } from "./agent-trial.js";

const look = { callId: "c1", name: "look", argumentsJson: "{}" };

/** INTERRUPT, ReadTranscript. */
export const interruptChecks = [
  agentCheck(
    {
      clause: "AGT-INTR-001",
      name: "ends-turn",
      title: "Interrupt of a turn whose model is silent ends it INTERRUPTED, with the work so far.",
      features: [Feature.INTERRUPT],
    },
    async (t) => {
      await using peers = await t.peers([calls([look]), "hang"]);
      const { id } = await t.open(peers);
      const running = t.activate(id);
      while (peers.model.asked.length < 2) await t.pause(10);
      t.judge.answer("Interrupt", await t.elsewhere().interrupt({ sessionId: id, activationIndex: 0 }));
      const { completed, events } = await running;
      t.judge.equal("stop_reason", completed?.stopReason, StopReason.INTERRUPTED);
      t.judge.that(
        "items",
        events.some(({ event }) => event.case === "item"),
        { expected: "some", actual: "none" },
      );
    },
  ),
  agentCheck(
    {
      clause: "AGT-INTR-002",
      name: "goes-on",
      title: "after Interrupt the session takes the next activation.",
      features: [Feature.INTERRUPT, Feature.CONTINUATION],
    },
    async (t) => {
      await using peers = await t.peers(["hang", says("done")]);
      const { id } = await t.open(peers);
      const running = t.activate(id);
      while (peers.model.asked.length < 1) await t.pause(10);
      t.judge.answer("Interrupt", await t.elsewhere().interrupt({ sessionId: id, activationIndex: 0 }));
      await running;
      const { completed } = await t.activate(id, { activationIndex: 1 });
      t.judge.equal("stop_reason of the next", completed?.stopReason, StopReason.DONE);
    },
  ),
  agentCheck(
    {
      clause: "AGT-INTR-003",
      name: "late",
      title: "Interrupt of a turn that has ended says so and changes nothing.",
      features: [Feature.INTERRUPT],
    },
    async (t) => {
      await using peers = await t.peers();
      const { id } = await t.open(peers);
      const first = await t.activate(id);
      const { alreadyEnded } = t.judge.answer(
        "Interrupt",
        await t.calls.interrupt({ sessionId: id, activationIndex: 0 }),
      );
      t.judge.equal("already_ended", alreadyEnded, true);
      const again = await t.activate(id);
      t.judge.equal("the repeat of the activation", again.completed, first.completed);
    },
  ),
  agentCheck(
    {
      clause: "AGT-READ-001",
      name: "whole",
      title: "ReadTranscript gives the items of the events in order, and the activation around them.",
    },
    async (t) => {
      await using peers = await t.peers([calls([look]), says("done")]);
      const { id } = await t.open(peers);
      const { events } = await t.activate(id);
      const records = t.judge.stream(
        "ReadTranscript",
        await t.calls.readTranscript({ sessionId: id }).finish(),
      );
      const items = events.flatMap(({ event }) => (event.case === "item" ? [event.value] : []));
      const told = records.flatMap(({ record }) => (record.case === "item" ? [record.value] : []));
      t.judge.that("items", items.length > 0, { expected: "some", actual: "none" });
      t.judge.equal("items of the transcript", told.slice(-items.length), items);
      t.judge.that(
        "the activation",
        records.some(({ record }) => record.case === "begun"),
        {
          expected: "its beginning",
          actual: records.map(({ record }) => record.case),
        },
      );
    },
  ),
  agentCheck(
    {
      clause: "AGT-READ-002",
      name: "during-and-after",
      title: "ReadTranscript works while a turn runs, and after Close.",
    },
    async (t) => {
      await using peers = await t.peers([calls([look]), "hang"]);
      const { id, request } = await t.open(peers);
      const running = t.activate(id);
      while (peers.model.asked.length < 2) await t.pause(10);
      const during = t.judge.stream(
        "ReadTranscript",
        await t.elsewhere().readTranscript({ sessionId: id }).finish(),
      );
      t.judge.that("records during the turn", during.length > 0, { expected: "some", actual: "none" });
      const episodeId = request.context?.episodeId;
      t.judge.answer(
        "Close",
        await t.elsewhere().close({ sessionId: id, ...(episodeId === undefined ? {} : { episodeId }) }),
      );
      await running;
      const after = t.judge.stream(
        "ReadTranscript",
        await t.calls.readTranscript({ sessionId: id }).finish(),
      );
      t.judge.equal("the first records after Close", after.slice(0, during.length), during);
    },
  ),
];
