import {
  AgentSessionService,
  type AgentSessionServiceDescribeResponse,
  type OpenRequest,
} from "../../../gen/index.js";
import type { ProfileSuite } from "../../runner/profile-suite.js";
import { statusText } from "../../subject/reply.js";
import { errorWatches } from "../shared/errors.js";
import { sharedChecks } from "../shared/index.js";
import { describing, type SharedSubject } from "../shared/shared-subject.js";
import { activateChecks } from "./activate.js";
import { type AgentTrial, agentCheck, agentTrial } from "./agent-trial.js";
import { interruptChecks } from "./interrupt.js";
import { openChecks } from "./open.js";
import { activateOperation, agentSessions, openOperation } from "./operations.js";

/** An agent server, as the rules of every service see it. */
const sharedAgent: SharedSubject<AgentTrial> = {
  check: agentCheck,
  ...describing(AgentSessionService),
  operations: [openOperation, activateOperation],
  sessions: agentSessions,
};

/** The agent-session profile: the runner plays the model and the environment's tools. */
export const agentSuite: ProfileSuite<AgentTrial, AgentSessionServiceDescribeResponse> = {
  profile: "agent-session",
  probePath: `/${AgentSessionService.typeName}/${AgentSessionService.method.describe.name}`,
  checks: [...openChecks, ...activateChecks, ...interruptChecks, ...sharedChecks(sharedAgent)],
  watches: () => errorWatches("agent-session"),
  lacks: (file) =>
    file.agent === undefined
      ? "conformance.yaml has no `agent`: `agent: {}` will do, see docs/certify.md"
      : undefined,
  async describe(trial) {
    const reply = await trial.connect().client(AgentSessionService).describe({});
    return trial.judge.answer("AgentSessionService.Describe", reply);
  },
  async smoke(t) {
    await using peers = await t.peers();
    const { id } = await t.open(peers);
    const end = await t.activate(id);
    t.judge.that("the first activation", end.completed !== undefined, {
      expected: "completed",
      actual: end.failure ?? end.status,
    });
  },
  identity: ({ service }) => ({
    name: service?.implementation?.name ?? "",
    version: service?.implementation?.version ?? "",
    instanceId: service?.instanceId ?? "",
    contractVersion: service?.contractVersion ?? "",
    features: new Set(service?.features),
    circumstances: new Set(),
  }),
  trial: (trial, file, described) =>
    agentTrial(trial, { fixture: trial.must(file.agent, "agent"), described }),
  cleanUp(request) {
    if (!("$typeName" in request) || request.$typeName !== "touchstone.v1.OpenRequest") return undefined;
    const { sessionId, context } = request as OpenRequest;
    if (sessionId === "") return undefined;
    return {
      key: sessionId,
      async close(connection) {
        const { status } = await connection.client(AgentSessionService).close({
          sessionId,
          ...(context?.episodeId === undefined ? {} : { episodeId: context.episodeId }),
        });
        if (status === undefined || status.code === "INVALID_ARGUMENT") return undefined;
        return `session ${sessionId} could not be closed: ${statusText(status)}`;
      },
    };
  },
};
