import { create } from "@bufbuild/protobuf";
import {
  Feature,
  ItemSchema,
  ReferenceSchema,
  Role,
  type StepResponse,
  TaskSchema,
} from "../../../gen/index.js";
import { MissingFixture } from "../../check/finding.js";
import type { Judge } from "../../check/judge.js";
import { asSearched, searchable } from "../../check/searched.js";
import { type Watch, watch } from "../../check/watch.js";
import type { Seen } from "../../subject/seen.js";
import { failuresIn } from "../shared/errors.js";
import { environmentCheck } from "./environment-trial.js";

/** What an answer of an environment gives to agents; undefined: nothing of it is theirs. */
function forAgents(message: object): unknown {
  const { $typeName: name, ...fields } = message as { readonly $typeName?: string } & Record<string, unknown>;
  switch (name) {
    case "touchstone.v1.SeedResponse":
    case "touchstone.v1.ForkResponse":
      return fields["session"];
    case "touchstone.v1.StepResponse":
      return withoutInfo(message as StepResponse);
    case "touchstone.v1.StepStreamResponse":
    case "touchstone.v1.ListToolsResponse":
    case "touchstone.v1.AdvanceResponse":
      return message;
    default:
      return undefined;
  }
}

/** `info_json` is for controllers. */
function withoutInfo(step: StepResponse): unknown {
  return { ...step, outcomes: step.outcomes.map((outcome) => ({ ...outcome, infoJson: "" })) };
}

/** What a verdict says for people: it holds no privileged text either. */
function forPeople(message: object): string | undefined {
  const { event } = message as { readonly event?: { readonly case?: string; readonly value?: unknown } };
  if (event?.case !== "result") return undefined;
  const { outcome } = event.value as {
    readonly outcome: { readonly case?: string; readonly value?: { readonly diagnosticsJson?: string } };
  };
  return outcome.case === "verdict" ? outcome.value?.diagnosticsJson : undefined;
}

/** R16 on everything that a run brings to light; `texts` are the fixture's privileged ones. */
export function privilegedWatches(texts: readonly string[] | undefined): readonly Watch[] {
  /** Texts that an action of this run held itself: an observation may say them back. */
  const said = new Set<string>();
  const wanted = (): readonly string[] => {
    if (texts === undefined) throw new MissingFixture("environment.privileged", true);
    return texts;
  };
  const hold = (seen: Seen): void => {
    if (seen.kind !== "request" || !/^Step(Stream)?$/.test(seen.method.name)) return;
    const all = searchable(seen.message);
    for (const text of wanted()) if (all.includes(asSearched(text))) said.add(text);
  };
  const judged = (
    judge: Judge,
    what: string,
    { all, but }: { all: string; but: ReadonlySet<string> },
  ): void => {
    for (const text of wanted().filter((one) => !but.has(one))) {
      judge.that(what, !all.includes(asSearched(text)), {
        expected: `not to hold ${JSON.stringify(text)}`,
        actual: all,
      });
    }
  };
  const none: ReadonlySet<string> = new Set();
  return [
    watch(
      {
        clause: "ALL-PRIV-001",
        name: "every-answer",
        title: "No privileged text is in any descriptor, observation, tool, result or diagnostics.",
      },
      (seen, judge) => {
        hold(seen);
        if (seen.kind !== "answer") return;
        const { name } = seen.method;
        const theirs = forAgents(seen.message);
        if (theirs !== undefined) {
          const but = name.startsWith("Step") ? said : none;
          judged(judge, `the answer of ${name}`, { all: searchable(theirs), but });
        }
        const diagnostics = forPeople(seen.message);
        if (diagnostics !== undefined) judged(judge, "diagnostics_json", { all: diagnostics, but: none });
      },
    ),
    watch(
      {
        clause: "ALL-PRIV-002",
        name: "every-error",
        title: "No privileged text is in any status or Failure.",
      },
      (seen, judge) => {
        const failures = failuresIn(seen);
        const status = seen.kind === "end" ? seen.status : undefined;
        if (failures.length === 0 && status === undefined) return;
        judged(judge, `an error of ${seen.method.name}`, { all: searchable([failures, status]), but: none });
      },
    ),
  ];
}

/** R16, where a check has to ask. */
export const privilegedChecks = [
  environmentCheck(
    {
      clause: "ALL-PRIV-004",
      name: "output",
      title: "a process that served good, bad and broken work has printed no privileged text.",
      lane: "process",
      within: 60,
    },
    async (t) => {
      const texts = t.must(t.fixture.privileged, "environment.privileged");
      const { good, bad } = t.fixture.sample;
      for (const work of [good, bad]) {
        const session = await t.open();
        if (t.has(Feature.STEP)) await session.play(work);
        t.result("Verify", await session.verify(0, { final: true, submission: work?.submission }));
        t.judge.answer("Close", await session.close());
      }
      for (const what of ["invalid", "crash"] as const) {
        const { task, submission } = t.fixture[what] ?? {};
        if (task !== undefined) await t.calls.seed(t.seedRequest({ source: { case: "task", value: task } }));
        if (submission !== undefined) await (await t.open()).verify(0, { submission });
      }
      t.process().signal("SIGTERM");
      await t.pause(200);
      const { output } = t.process();
      t.judge.each("the texts", texts, (text) =>
        t.judge.that("stdout and stderr", !output.includes(text), {
          expected: `not to hold ${JSON.stringify(text)}`,
          actual: output,
        }),
      );
    },
  ),
  environmentCheck(
    {
      clause: "ALL-PRIV-006",
      name: "reference",
      title:
        "a text of Task.reference is in no answer that agents get, nor in a failure, nor in diagnostics.",
    },
    async (t) => {
      const marker = `reference-of-${t.id("secret")}`;
      const content = [{ kind: { case: "text" as const, value: marker } }];
      const item = create(ItemSchema, {
        kind: { case: "chatMessage", value: { role: Role.ASSISTANT, content } },
      });
      const sample = t.must(t.fixture.sample.task, "environment.sample.task");
      const reference = create(ReferenceSchema, { items: [item] });
      const task = create(TaskSchema, { ...sample, reference });
      const session = await t.open({ source: { case: "task", value: task }, wantReference: true });
      const seen: [string, unknown][] = [["the descriptor", session.descriptor]];
      if (t.has(Feature.STEP)) {
        for (const step of await session.play(t.fixture.sample.bad)) seen.push(["an observation", step]);
      }
      if (t.has(Feature.TOOLS)) {
        for (const { agentId } of session.descriptor.agents) {
          seen.push(["ListTools", await t.calls.listTools({ sessionId: session.id, agentId })]);
        }
      }
      const { submission } = t.must(t.fixture.sample.bad, "environment.sample.bad");
      seen.push(["the verdict", await session.verify(0, { submission })]);
      t.judge.each("what was answered", seen, ([what, answer]) =>
        t.judge.that(what, !searchable(answer).includes(marker), {
          expected: "not to hold the reference's text",
          actual: answer,
        }),
      );
    },
  ),
];
