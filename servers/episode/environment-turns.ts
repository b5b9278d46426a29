import { clone, create } from "@bufbuild/protobuf";
import {
  CallError,
  type ClientCallOptions,
  type EnvironmentClient,
  instanceOf,
} from "../../clients/index.js";
import {
  type AgentView,
  AgentViewSchema,
  Boundary,
  type EnvironmentServiceCloseResponse,
  FailureKind,
  Feature,
  type Reference,
  ResourceKind,
  Retry,
  type SeedResponse,
  type SessionDescriptor,
  Stage,
  type StageVerdict,
  type StepRecord,
  StepRecordSchema,
  StepRequestSchema,
  type Verdict,
} from "../../gen/index.js";
import { fromMs } from "../runtime/duration.js";
import { OperationFailure } from "../runtime/failure.js";
import type { StageStarted, StepAction, StepTaken } from "./define-driver.js";
import type { EpisodeRun } from "./episode-run.js";
import { StepWatch } from "./step-watch.js";
import { Verification } from "./verification.js";
import { weakerSession } from "./weaker-echoes.js";

/** The environment's side of an episode: its session, what is handed in, what is measured. */
export class EnvironmentTurns {
  session: SessionDescriptor | undefined;
  /** The task's solution, where the run asked for it. */
  reference: Reference | undefined;
  /** The final verification, once it was begun. */
  verification: Verification | undefined;
  receipt: EnvironmentServiceCloseResponse | undefined;
  /** The instance that made the session; undefined: it told none. */
  instance: string | undefined;
  readonly #episode: EpisodeRun;
  readonly #sessionId: string;
  /** For what follows Seed: it takes answers of the instance that made the session only (EPI-E6-011). */
  #client: EnvironmentClient | undefined;
  /** For Close, which any instance may answer. */
  #closing: EnvironmentClient | undefined;
  #watch: StepWatch | undefined;
  /** Steps that the driver has asked for. */
  #stepped = 0;
  /** Verifications of stages that were begun. */
  #verifications = 0;
  /** What the agents got for the stage that the session is at; undefined: what Seed told. */
  #views: readonly AgentView[] | undefined;
  /** The stage that the session is at. */
  #stage = 0;
  /** Steps that are told in the trajectory. */
  stepsTold = 0;

  constructor(episode: EpisodeRun) {
    this.#episode = episode;
    this.#sessionId = episode.newId("e");
  }

  /** The environment tells the steps that are taken in its sessions. */
  get tellsSteps(): boolean {
    const { service } = this.#episode.bound.described.environment;
    return service?.features.includes(Feature.WATCH_STEPS) ?? false;
  }

  async seed(): Promise<SessionDescriptor> {
    return await this.#episode.phases.run(
      {
        stage: Stage.SEED,
        timing: "seed",
        boundary: Boundary.ENVIRONMENT,
        bound: "seedMs",
        inEpisodeClock: true,
        refused: FailureKind.SEED_FAILED,
      },
      (options) => this.#seed(options),
    );
  }

  async #seed(options: ClientCallOptions): Promise<SessionDescriptor> {
    const episode = this.#episode;
    const { request, timeouts } = episode.parts;
    const { environment, described } = episode.bound;
    const opening = environment.client(episode.clientOptions);
    // E1: registered and told before the call that makes it.
    this.#own(opening);
    const needs = [...described.agents].flatMap(([agentId, says]) => {
      const requirements = says.agent.sandboxRequirements;
      return requirements === undefined ? [] : [{ agentId, requirements }];
    });
    const response = await opening.seed(
      {
        sessionId: this.#sessionId,
        ...episode.context,
        source: request.source,
        ...(request.envSeed === undefined ? {} : { seed: request.envSeed }),
        wantReference: request.giveReference && episode.agents.someoneTakesReference,
        agentRequirements: needs,
        sandboxProvider: request.sandbox,
        timeout: fromMs(timeouts.seedMs),
      },
      {
        ...options,
        onInfo: (info) => {
          this.instance = instanceOf(info);
        },
      },
    );
    const session = seeded(response);
    this.session = session;
    episode.agents.allowances.whole = session.limits?.agentBudget;
    this.reference = response.reference;
    const { instance } = this;
    const { endpoint, lease } = session;
    if (endpoint !== undefined) {
      this.#closing = environment.client(episode.clientOptions, endpoint);
      episode.stack.moved(this.#sessionId, endpoint);
    }
    const client = environment.client(episode.following({ instance, endpoint }), endpoint);
    this.#client = client;
    const sessionId = this.#sessionId;
    episode.renewals.start({
      id: sessionId,
      boundary: Boundary.ENVIRONMENT,
      lease,
      renew: async (signal) => (await client.keepAlive({ sessionId }, { signal })).lease,
      onLost: (failure) => episode.phases.end(failure),
    });
    const task = request.source.case === "task" ? request.source.value : undefined;
    episode.unenforced.push(
      ...weakerSession(
        session,
        task,
        needs.map(({ requirements }) => requirements),
      ),
    );
    this.#watchSteps(client);
    return session;
  }

  #own(opening: EnvironmentClient): void {
    const episode = this.#episode;
    const { request, episodeId } = episode.parts;
    const sessionId = this.#sessionId;
    this.#closing = opening;
    // Done behind the session's Close, which ends the feed.
    episode.stack.defer(`steps of ${sessionId}`, async ({ signal }) => await this.#watch?.end(signal));
    episode.stack.own({
      intent: episode.intent({
        kind: ResourceKind.ENVIRONMENT_SESSION,
        binding: request.environment,
        id: sessionId,
      }),
      boundary: Boundary.ENVIRONMENT,
      release: async (options) => {
        episode.renewals.stop(sessionId);
        this.receipt = await (this.#closing ?? opening).close({ sessionId, episodeId }, options);
        return this.receipt.receipt;
      },
    });
  }

  #watchSteps(client: EnvironmentClient): void {
    if (!this.tellsSteps) return;
    const { trajectory } = this.#episode.parts;
    this.#watch = new StepWatch(client, this.#sessionId, {
      onStep: (step) => this.#onStep(step),
      onMissing: (why) => trajectory.miss(why),
    });
  }

  /**
   * Steps the environment. The step has a name of its own: agents take steps too, by their tools, and the environment
   * numbers them all. A world that has ended meanwhile takes none, which is no failure.
   */
  async step(actions: readonly StepAction[]): Promise<StepTaken> {
    const client = this.#client;
    if (client === undefined) throw new Error("Step before Seed");
    const index = this.#stepped;
    this.#stepped += 1;
    const actionId = `${this.#sessionId}.${index}`;
    const request = create(StepRequestSchema, {
      sessionId: this.#sessionId,
      name: { case: "actionId", value: actionId },
      actions: [...actions],
    });
    const response = await this.#episode.phases.run(
      {
        stage: Stage.STEP,
        timing: "activate",
        boundary: Boundary.ENVIRONMENT,
        bound: "activationMs",
        index,
        inEpisodeClock: true,
      },
      (options) => client.step(request, options).catch(endedBefore),
    );
    if (response === undefined) return { outcomes: [], nextAgents: [] };
    if (!this.tellsSteps) {
      this.#onStep(create(StepRecordSchema, { actions: request.actions, response, actionId }));
    }
    return { outcomes: response.outcomes, nextAgents: response.nextAgents };
  }

  #onStep(step: StepRecord): void {
    this.stepsTold += 1;
    this.#episode.parts.trajectory.add("", { case: "step", value: step });
    this.#episode.tell({ case: "step", value: step });
  }

  /** Verifies all that the agents have said and done, for good (EPI-RUN-016). */
  async verify(): Promise<Verdict> {
    const { client, session } = this.#seeded("Verify");
    this.verification = new Verification(this.#episode, {
      client,
      sessionId: this.#sessionId,
      session,
      index: this.#verifications,
      final: true,
    });
    return await this.verification.run();
  }

  /** Verifies the stage that the session is at, which lives on. */
  async verifyStage(): Promise<StageVerdict> {
    const { client, session } = this.#seeded("Verify");
    const verification = new Verification(this.#episode, {
      client,
      sessionId: this.#sessionId,
      session,
      index: this.#verifications,
      final: false,
    });
    const verdict = await verification.run();
    this.#verifications = verification.nextIndex;
    this.#episode.parts.trajectory.add("", { case: "stageVerdict", value: verdict });
    return stageOf(verdict);
  }

  /** Begins the next stage (ENV-STAG-002). */
  async advance(): Promise<StageStarted> {
    const { client, session } = this.#seeded("Advance");
    const { phases, agents, parts } = this.#episode;
    const stageIndex = this.#stage + 1;
    const {
      agents: told,
      nextAgents,
      agentBudget,
      user,
    } = await phases.run(
      {
        stage: Stage.ADVANCE,
        timing: "seed",
        boundary: Boundary.ENVIRONMENT,
        bound: "seedMs",
        index: stageIndex,
        inEpisodeClock: true,
      },
      (options) =>
        client.advance(
          { sessionId: this.#sessionId, stageIndex, timeout: fromMs(parts.timeouts.seedMs) },
          options,
        ),
    );
    this.#stage = stageIndex;
    if (agentBudget !== undefined) agents.allowances.renew(agentBudget);
    const before = this.#views ?? session.agents;
    this.#views = before.map((view) => nextView(view, told, user));
    return { stageIndex, nextAgents, agents: this.#views };
  }

  /** The session, where there is one. */
  #seeded(asked: string): { readonly client: EnvironmentClient; readonly session: SessionDescriptor } {
    const { session } = this;
    if (this.#client === undefined || session === undefined) throw new Error(`${asked} before Seed`);
    return { client: this.#client, session };
  }
}

/** What a verdict says of its stage. Throws where it says nothing: nobody could tell whether another one follows. */
function stageOf({ stage }: Verdict): StageVerdict {
  if (stage !== undefined) return stage;
  throw new OperationFailure({
    kind: FailureKind.PROTOCOL_VIOLATION,
    stage: Stage.VERIFY,
    retry: Retry.NEVER,
    reason: "the environment verified a stage, and its verdict does not say which (ENV-STAG-004)",
  });
}

/** What an agent gets for a new stage: its accesses and its box stay those that it had before. */
function nextView(before: AgentView, told: readonly AgentView[], user: string): AgentView {
  const { agentId } = before;
  const next = told.find((view) => view.agentId === agentId);
  if (next === undefined) {
    throw new OperationFailure({
      kind: FailureKind.PROTOCOL_VIOLATION,
      stage: Stage.ADVANCE,
      agentId,
      retry: Retry.NEVER,
      reason: `the environment began a stage without a word for agent "${agentId}"`,
    });
  }
  const view = clone(AgentViewSchema, before);
  view.input = next.input;
  view.tools = next.tools;
  if (next.observation === undefined) delete view.observation;
  else view.observation = next.observation;
  if (view.sandbox !== undefined && user !== "") view.sandbox.user = user;
  return view;
}

/** A step that was refused because the world had ended; any other error is thrown. */
function endedBefore(error: unknown): undefined {
  if (error instanceof CallError && error.reason === "EPISODE_ENDED") return undefined;
  throw error;
}

/** The session of an answer to Seed. Throws where there is none that a driver could go on with. */
function seeded({ session }: SeedResponse): SessionDescriptor {
  if (session !== undefined && session.agents.length > 0) return session;
  throw new OperationFailure({
    kind: FailureKind.PROTOCOL_VIOLATION,
    retry: Retry.NEVER,
    reason: `the environment answered Seed without ${session === undefined ? "a session" : "an agent"}`,
  });
}
