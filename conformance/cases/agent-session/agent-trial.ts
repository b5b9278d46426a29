import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  ActivateRequestSchema,
  type ActivateResponse,
  type ActivationCompleted,
  AgentSessionService,
  type AgentSessionServiceDescribeResponse,
  type EpisodeContext,
  EpisodeContextSchema,
  EpisodeIdSchema,
  type Failure,
  type Feature,
  type Item,
  ItemSchema,
  ModelDialect,
  type OpenRequest,
  OpenRequestSchema,
  type OpenResponse,
  Role,
} from "../../../gen/index.js";
import { checksOf } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import type { AgentFixture } from "../../fixture/agent-fixture.js";
import { type Saying, type ScriptedModel, says, scriptedModel } from "../../peers/scripted-model.js";
import { results, type ScriptedTools, type Stepping, scriptedTools } from "../../peers/scripted-tools.js";
import type { Connection } from "../../subject/connection.js";
import type { CallStatus } from "../../subject/reply.js";
import type { CallOptions, SubjectClient } from "../../subject/subject-client.js";

/** Calls of an agent server. */
export type AgentCalls = SubjectClient<typeof AgentSessionService>;

/** Peers that the runner plays towards an agent. */
export interface AgentPeers extends AsyncDisposable {
  readonly model: ScriptedModel;
  readonly tools: ScriptedTools;
}

/** How an activation ended. */
export interface ActivationEnd {
  readonly events: readonly ActivateResponse[];
  readonly completed: ActivationCompleted | undefined;
  readonly failure: Failure | undefined;
  readonly status: CallStatus | undefined;
}

/** What the checks of an agent work with. */
export interface AgentTrial extends Trial {
  readonly fixture: AgentFixture;
  readonly described: AgentSessionServiceDescribeResponse;
  readonly calls: AgentCalls;
  elsewhere(): AgentCalls;
  has(feature: Feature): boolean;
  context(init?: MessageInitShape<typeof EpisodeContextSchema>): EpisodeContext;
  /** Begins to play a model that says this, and the tools of an environment. */
  peers(sayings?: readonly Saying[], stepping?: Stepping): Promise<AgentPeers>;
  /** An Open that lends these peers. */
  openRequest(
    peers: { readonly model: { readonly url: string }; readonly tools: { readonly url: string } },
    init?: MessageInitShape<typeof OpenRequestSchema>,
  ): OpenRequest;
  /** Opens a session; no answer is a finding. */
  open(
    peers: AgentPeers,
    init?: MessageInitShape<typeof OpenRequestSchema>,
  ): Promise<{ readonly request: OpenRequest; readonly answer: OpenResponse; readonly id: string }>;
  /** Activates and reads to the end. */
  activate(
    sessionId: string,
    init?: MessageInitShape<typeof ActivateRequestSchema>,
    options?: CallOptions,
  ): Promise<ActivationEnd>;
  /** A user's message. */
  said(text: string): Item;
}

/** Defines a check of the agent-session profile. */
export const agentCheck = checksOf<AgentTrial>("agent-session");

/** Adds to a trial what agents have. */
export function agentTrial(
  trial: Trial,
  { fixture, described }: { fixture: AgentFixture; described: AgentSessionServiceDescribeResponse },
): AgentTrial {
  let first: Connection | undefined;
  const features = new Set(described.service?.features);
  const made: AgentTrial = {
    ...trial,
    fixture,
    described,
    get calls() {
      first ??= trial.connect();
      return first.client(AgentSessionService);
    },
    elsewhere: () => trial.connect().client(AgentSessionService),
    has: (feature) => features.has(feature),
    context(init = {}) {
      const context = create(EpisodeContextSchema, init);
      context.episodeId = create(EpisodeIdSchema, { rolloutId: trial.id("rollout") });
      return context;
    },
    async peers(sayings = [says("done")], stepping = results("ok")) {
      const [model, tools] = await Promise.all([scriptedModel(sayings), scriptedTools(stepping)]);
      return {
        model,
        tools,
        async [Symbol.asyncDispose]() {
          await Promise.all([model[Symbol.asyncDispose](), tools[Symbol.asyncDispose]()]);
        },
      };
    },
    openRequest: ({ model, tools }, init = {}) =>
      create(OpenRequestSchema, {
        sessionId: trial.id("session"),
        context: made.context(),
        agentId: "agent",
        tools: [
          {
            name: "look",
            description: "Looks.",
            inputSchemaJson: '{"type":"object","properties":{"at":{"type":"string"}}}',
          },
        ],
        toolAccesses: [
          {
            name: "step",
            required: true,
            way: {
              case: "step",
              value: {
                endpoint: { url: tools.url },
                sessionId: "world",
                agentId: "agent",
                bearerToken: "tool-token",
              },
            },
          },
        ],
        modelAccesses: [
          { dialect: ModelDialect.TOUCHSTONE_V1, baseUrl: model.url, apiKey: "model-key", model: "scripted" },
        ],
        optionsJson: fixture.options_json,
        ...init,
      }),
    async open(peers, init) {
      const request = made.openRequest(peers, init);
      const answer = trial.judge.answer(`Open ${request.sessionId}`, await made.calls.open(request));
      return { request, answer, id: request.sessionId };
    },
    async activate(sessionId, init = {}, options) {
      const request = create(ActivateRequestSchema, init);
      request.sessionId = sessionId;
      if (request.input.length === 0) request.input.push(made.said("Do it."));
      const reply = await made.calls.activate(request, options).finish();
      const last = reply.messages.at(-1)?.event;
      return {
        events: reply.messages,
        completed: last?.case === "completed" ? last.value : undefined,
        failure: last?.case === "failed" ? last.value.failure : reply.status?.failure,
        status: reply.status,
      };
    },
    said: (text) =>
      create(ItemSchema, {
        kind: {
          case: "chatMessage",
          value: { role: Role.USER, content: [{ kind: { case: "text", value: text } }] },
        },
      }),
  };
  return made;
}
