import { create } from "@bufbuild/protobuf";
import {
  BudgetSchema,
  FailureKind,
  StopMode,
  StopReason,
  TypedBytesSchema,
  VerdictSchema,
} from "../../../gen/index.js";
import { answeredTurn, answerItem, endlessTurn, questionItem, verdictOf } from "../../peers/scene-scripts.js";
import { orderOf, requestsOf, rpcs } from "./asked.js";
import { episodeCheck } from "./episode-trial.js";

const canary = "CANARY-9b1d";

/** Whether bytes, as they are or in base64, are anywhere in what a part was asked. */
function wasTold(calls: readonly { readonly request: unknown }[], text: string): boolean {
  const plain = Buffer.from(text).toString("base64").slice(0, -4);
  return calls.some(({ request }) => {
    const shown = JSON.stringify(request, (_key, value: unknown) =>
      typeof value === "bigint"
        ? value.toString()
        : value instanceof Uint8Array
          ? Buffer.from(value).toString("latin1")
          : value,
    );
    return shown.includes(text) || shown.includes(plain);
  });
}

/** What an episode of one turn asks of whom, in which order, with what in it. */
export const orderChecks = [
  episodeCheck(
    {
      clause: "EPI-RUN-002",
      name: "one-turn",
      title: "the parts are asked in the order of the contract, each once.",
    },
    async (t) => {
      const scene = t.scene();
      await t.run(scene);
      t.judge.equal("the calls", orderOf(scene), [
        "environment.Seed",
        "model.OpenGateway",
        "agent.Open",
        "agent.Activate",
        "agent.Close",
        "model.CloseGateway",
        "environment.Verify",
        "environment.Close",
      ]);
      const [verify] = requestsOf(scene, rpcs.verify);
      const target = verify?.target;
      t.judge.equal("Verify is final", target?.case === "session" && target.value.final, true);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-DRV-006",
      name: "one-activation",
      title: "one activation, index 0, then Close and Verify.",
    },
    async (t) => {
      const scene = t.scene();
      await t.run(scene);
      const indexes = requestsOf(scene, rpcs.activate).map(({ activationIndex }) => activationIndex);
      t.judge.equal("the activations", indexes, [0]);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-RUN-004",
      name: "agent-view",
      title: "input, tools and accesses of Seed's view reach Open and Activate as they are.",
    },
    async (t) => {
      const scene = t.scene();
      await t.run(scene);
      const [open] = requestsOf(scene, rpcs.open);
      const [activate] = requestsOf(scene, rpcs.activate);
      t.judge.equal(
        "Open.tools",
        open?.tools.map(({ name, description }) => [name, description]),
        [["add", "Adds."]],
      );
      const [access] = open?.toolAccesses ?? [];
      const way = access?.way.case === "step" ? access.way.value : undefined;
      t.judge.equal(
        "the way to the tools",
        [access?.name, access?.required, way?.bearerToken, way?.agentId],
        ["step", true, "tool-token", "agent"],
      );
      const [item] = activate?.input ?? [];
      t.judge.equal("Activate.input", item?.kind.case, questionItem.kind.case);
      t.judge.equal(
        "its text",
        item?.kind.case === "chatMessage" ? item.kind.value.content[0]?.kind.value : undefined,
        questionItem.kind.value.content[0]?.kind.value,
      );
    },
  ),
  episodeCheck(
    {
      clause: "EPI-RUN-005",
      name: "verdict",
      title: "the verdict in the outcome is the environment's, field for field.",
    },
    async (t) => {
      const scene = t.scene();
      const { verdict } = await t.run(scene);
      t.judge.equal("the verdict", verdict, create(VerdictSchema, verdictOf(0.5)));
    },
  ),
  episodeCheck(
    { clause: "EPI-RUN-006", name: "privileged", title: "what is privileged reaches the environment only." },
    async (t) => {
      const scene = t.scene();
      const source = t.request(scene).source;
      if (source.case !== "task") throw new Error("the request of a scene has a task");
      const privileged = create(TypedBytesSchema, { data: Buffer.from(canary), mediaType: "text/plain" });
      const { events } = await t.run(scene, {
        source: { case: "task", value: { ...source.value, privileged } },
      });
      const of = (part: string) => scene.calls.filter(({ peer }) => peer === part);
      t.judge.equal("the environment was told", wasTold(of("environment"), canary), true);
      t.judge.equal("the agent was told", wasTold(of("agent"), canary), false);
      t.judge.equal("the model was told", wasTold(of("model"), canary), false);
      t.judge.equal(
        "the reader was told",
        wasTold(
          events.map((request) => ({ request })),
          canary,
        ),
        false,
      );
    },
  ),
  episodeCheck(
    {
      clause: "EPI-RUN-007",
      name: "timings",
      title: "the outcome tells how long each phase took, queue apart.",
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.activate = async function* () {
        await t.pause(60);
        yield* answeredTurn();
      };
      const { outcome } = await t.run(scene);
      const { timings } = outcome ?? {};
      for (const phase of ["queue", "seed", "open", "activate", "verify", "cleanUp"] as const)
        t.judge.that(`timings.${phase}`, timings?.[phase] !== undefined, {
          expected: "a duration",
          actual: "nothing",
        });
      const took = Number(timings?.activate?.seconds ?? 0n) * 1000 + (timings?.activate?.nanos ?? 0) / 1e6;
      t.judge.that("timings.activate", took >= 50, { expected: "50 ms at least", actual: `${took} ms` });
    },
  ),
  episodeCheck(
    {
      clause: "EPI-RUN-008",
      name: "side-by-side",
      title: "an episode ends while another one hangs, and one that fails fails alone.",
    },
    async (t) => {
      const [hanging, failing, going] = [t.scene(), t.scene(), t.scene()];
      hanging.scripts.agent.activate = (_request, call) => endlessTurn(call);
      failing.scripts.environment.seed = () => {
        throw new Error("no world");
      };
      const first = t.begin(hanging, { timeouts: { activation: { seconds: 30n } } });
      await hanging.asked("agent", "Activate");
      const second = t.begin(failing);
      t.judge.that("the one that goes on", (await t.run(going)).verdict !== undefined, {
        expected: "a verdict",
        actual: "none",
      });
      t.judge.that("the one that fails", (await second.end).failure !== undefined, {
        expected: "a failure",
        actual: "none",
      });
      await t.calls.stop({ episodeId: { rolloutId: hanging.rolloutId }, mode: StopMode.ABANDON });
      await first.end;
    },
  ),
  episodeCheck(
    { clause: "EPI-RUN-014", name: "env-seed", title: "env_seed reaches Seed exactly, above 2^53 too." },
    async (t) => {
      const scene = t.scene();
      await t.run(scene, { envSeed: 9_007_199_254_740_993n });
      t.judge.equal("SeedRequest.seed", requestsOf(scene, rpcs.seed)[0]?.seed, 9_007_199_254_740_993n);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-RUN-015",
      name: "sampling-and-budget",
      title: "sampling reaches OpenGateway, the budget Open and Activate.",
    },
    async (t) => {
      const scene = t.scene();
      const { bindings } = t.fixture;
      await t.run(scene, {
        agents: [
          {
            agentId: "agent",
            agent: bindings.agent,
            model: bindings.model,
            sampling: { temperature: 0.25, maxOutputTokens: 77n },
            budget: create(BudgetSchema, { maxTurns: 3 }),
            instructions: "Be brief.",
            optionsJson: '{"depth":2}',
          },
        ],
      });
      const [gateway] = requestsOf(scene, rpcs.openGateway);
      t.judge.equal(
        "sampling",
        [gateway?.sampling?.temperature, gateway?.sampling?.maxOutputTokens],
        [0.25, 77n],
      );
      const [open] = requestsOf(scene, rpcs.open);
      const [activate] = requestsOf(scene, rpcs.activate);
      t.judge.equal("Open.budget", open?.budget?.maxTurns, 3);
      t.judge.equal("Activate.budget", activate?.budget?.maxTurns, 3);
      t.judge.equal("Open.instructions", open?.instructions, "Be brief.");
      t.judge.equal("Open.options_json", open?.optionsJson, '{"depth":2}');
    },
  ),
  episodeCheck(
    {
      clause: "EPI-RUN-016",
      name: "submission",
      title: "Verify gets what the agent handed in, and how its turn ended.",
    },
    async (t) => {
      const scene = t.scene();
      const { outcome } = await t.run(scene);
      const submission = requestsOf(scene, rpcs.verify)[0]?.submission;
      const [work] = submission?.agents ?? [];
      const texts = work?.items.map(({ kind }) =>
        kind.case === "chatMessage" ? kind.value.content[0]?.kind.value : kind.case,
      );
      t.judge.equal("the items", texts, [answerItem.kind.value.content[0]?.kind.value]);
      t.judge.equal("agent_end", work?.agentEnd?.stopReason, StopReason.DONE);
      t.judge.equal("verifier_state", Buffer.from(outcome?.verifierState ?? []).toString(), "sealed");
    },
  ),
  episodeCheck(
    {
      clause: "EPI-GATE-001",
      name: "one-gateway",
      title: "one gateway is opened for the agent's session, and Open gets its access.",
    },
    async (t) => {
      const scene = t.scene();
      await t.run(scene);
      t.judge.equal("gateways", requestsOf(scene, rpcs.openGateway).length, 1);
      const [access] = requestsOf(scene, rpcs.open)[0]?.modelAccesses ?? [];
      t.judge.equal("Open.model_accesses", [access?.apiKey, access?.model], ["gateway-key", "toy"]);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-GATE-002",
      name: "capture",
      title: "the capture is read after the agent's Close, before the gateway's.",
    },
    async (t) => {
      const scene = t.scene();
      await t.run(scene);
      const order = scene.calls.map(({ peer, rpc }) => `${peer}.${rpc}`);
      const [agent, capture, gateway] = ["agent.Close", "model.ReadCapture", "model.CloseGateway"].map(
        (rpc) => order.indexOf(rpc),
      ) as [number, number, number];
      t.judge.that("the order", agent >= 0 && agent < capture && capture < gateway, {
        expected: "agent.Close, model.ReadCapture, model.CloseGateway",
        actual: order.join(", "),
      });
    },
  ),
  episodeCheck(
    {
      clause: "EPI-GATE-003",
      name: "capture-fails",
      title: "a capture that cannot be read costs no verdict.",
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.model.readCapture = async function* () {
        yield* [];
        throw new Error("the capture is broken");
      };
      const { verdict } = await t.run(scene);
      t.judge.equal("the reward", verdict?.reward?.value, 0.5);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-GATE-004",
      name: "no-keys",
      title: "no key and no token is in what a reader of the episode gets.",
    },
    async (t) => {
      const scene = t.scene();
      const { events } = await t.run(scene, { includeItems: true });
      const read = await t.calls.readTrajectory({ episodeId: { rolloutId: scene.rolloutId } }).finish();
      const told = [...events, ...t.judge.stream("ReadTrajectory", read)].map((request) => ({ request }));
      for (const secret of ["gateway-key", "tool-token"])
        t.judge.equal(`${secret} was told`, wasTold(told, secret), false);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-RUN-010",
      name: "no-model-calls",
      title: "an agent that needs a model and never called it: NO_MODEL_CALLS, no verdict.",
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.model.closeGateway = async () => ({ receipt: { cleanupConfirmed: true }, calls: 0n });
      scene.scripts.model.readCapture = async function* () {
        yield* [];
      };
      const { failure, verdict } = await t.run(scene);
      t.judge.equal("the failure", failure?.kind, FailureKind.NO_MODEL_CALLS);
      t.judge.equal("the verdict", verdict, undefined);
      t.judge.equal("Verify was asked", requestsOf(scene, rpcs.verify).length, 0);
    },
  ),
];
