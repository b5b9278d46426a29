import { Code } from "@connectrpc/connect";
import { Retry } from "../../../gen/index.js";
import { refusal } from "../../peers/scene-scripts.js";
import { orderOf } from "./asked.js";
import { type EpisodeTrial, episodeCheck } from "./episode-trial.js";

type Changed = "driver" | "environment" | "agent" | "model";

/** A Run that names somebody else for one of its parts. */
const naming = (t: EpisodeTrial, what: Changed, name: string) => {
  const { bindings, driver } = t.fixture;
  return {
    driver: what === "driver" ? name : driver,
    environment: what === "environment" ? name : bindings.environment,
    agents: [
      {
        agentId: "agent",
        agent: what === "agent" ? name : bindings.agent,
        model: what === "model" ? name : bindings.model,
      },
    ],
  };
};

/** Who takes part is named, never addressed. */
export const namesChecks = [
  episodeCheck(
    { clause: "EPI-DESC-001", name: "names", title: "Describe names drivers and bindings, and no address." },
    async (t) => {
      const { drivers, bindings } = t.described;
      const { fixture } = t;
      t.judge.that("drivers", drivers.includes(fixture.driver), {
        expected: fixture.driver,
        actual: drivers.join(", "),
      });
      const named = {
        environments: bindings?.environments,
        agents: bindings?.agents,
        models: bindings?.models,
      };
      t.judge.that(
        "bindings.environments",
        named.environments?.includes(fixture.bindings.environment) ?? false,
        {
          expected: fixture.bindings.environment,
          actual: named.environments,
        },
      );
      t.judge.that("bindings.agents", named.agents?.includes(fixture.bindings.agent) ?? false, {
        expected: fixture.bindings.agent,
        actual: named.agents,
      });
      t.judge.that("bindings.models", named.models?.includes(fixture.bindings.model) ?? false, {
        expected: fixture.bindings.model,
        actual: named.models,
      });
      const told = JSON.stringify([drivers, bindings]);
      const addresses = Object.values(t.cast.urls).filter((url) => told.includes(url.replace("http://", "")));
      t.judge.equal("addresses told", addresses, []);
    },
  ),
  ...(["environment", "agent", "model"] as const).map((what) =>
    episodeCheck(
      {
        clause: "EPI-RUN-012",
        name: `unknown-${what}`,
        title: `an unknown ${what} is refused by name, and nothing starts.`,
        sendsInvalid: true,
      },
      async (t) => {
        const scene = t.scene();
        const { status } = await t.begin(scene, naming(t, what, "nobody-of-this-name")).end;
        t.judge.refused("Run", { status });
        t.judge.equal("what was asked of the parts", orderOf(scene), []);
        // Nothing was recorded: the episode runs under its name as if nothing had been.
        const { verdict } = await t.run(scene);
        t.judge.equal("the same name, bound right", verdict?.reward?.value, 0.5);
      },
    ),
  ),
  ...(["environment", "agent", "model"] as const).map((what) =>
    episodeCheck(
      {
        clause: "EPI-RUN-013",
        name: `address-${what}`,
        title: `an address in the place of ${what}'s name is refused, and nobody is dialled.`,
        sendsInvalid: true,
      },
      async (t) => {
        const scene = t.scene();
        const url = t.cast.urls[what];
        const { status } = await t.begin(scene, naming(t, what, url)).end;
        t.judge.refused(
          "Run",
          { status },
          { code: ["INVALID_ARGUMENT", "NOT_FOUND"], reason: ["INVALID_FIELD", "NAME_UNKNOWN"] },
        );
        t.judge.equal("what was asked of the parts", orderOf(scene), []);
      },
    ),
  ),
  episodeCheck(
    {
      clause: "EPI-RUN-011",
      name: "wrong-environment",
      title: "a task that the environment refuses as another's ends the episode, retry NEVER.",
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.environment.seed = () => {
        throw refusal(Code.InvalidArgument, "WRONG_ENVIRONMENT", "this is world, not other");
      };
      const { failure, verdict } = await t.run(scene);
      t.judge.equal("the verdict", verdict, undefined);
      t.judge.equal("its retry", failure?.retry, Retry.NEVER);
      t.judge.that(
        "its reason",
        /WRONG_ENVIRONMENT|not other/.test(
          `${failure?.reason} ${failure?.causes.map(({ reason }) => reason).join()}`,
        ),
        {
          expected: "the environment's refusal",
          actual: failure?.reason,
        },
      );
    },
  ),
];
