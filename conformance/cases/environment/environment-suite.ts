import {
  EnvironmentService,
  type EnvironmentServiceDescribeResponse,
  type ForkRequest,
  Placement,
  type SeedRequest,
} from "../../../gen/index.js";
import type { CleanUp, ProfileSuite } from "../../runner/profile-suite.js";
import { statusText } from "../../subject/reply.js";
import { errorMetadataWatch } from "../shared/error-metadata.js";
import { errorWatches } from "../shared/errors.js";
import { sharedChecks } from "../shared/index.js";
import { agentTokenChecks } from "./agent-tokens.js";
import { bigContentChecks } from "./big-content.js";
import { closeEnvironmentChecks } from "./close-environment.js";
import { dataChecks } from "./data.js";
import { describeEnvironmentChecks } from "./describe.js";
import { type EnvironmentTrial, environmentTrial } from "./environment-trial.js";
import { finalVerifyChecks } from "./final-verify.js";
import { forkChecks } from "./fork.js";
import { listingChecks, unlistedChecks } from "./listing.js";
import { metricsChecks } from "./metrics.js";
import { multiAgentChecks } from "./multi-agent.js";
import { privilegedChecks, privilegedWatches } from "./privileged.js";
import { rewardWatches } from "./reward-watches.js";
import { seedChecks } from "./seed.js";
import { seedCapacityChecks } from "./seed-capacity.js";
import { sharedEnvironment } from "./shared.js";
import { stageChecks } from "./stages.js";
import { statelessVerifyChecks } from "./stateless-verify.js";
import { stepChecks } from "./step.js";
import { stepBatchChecks } from "./step-batch.js";
import { stepLedgerChecks } from "./step-ledger.js";
import { stepStreamChecks } from "./step-stream.js";
import { toolChecks, toolStepChecks } from "./tool-steps.js";
import { undeclaredChecks } from "./undeclared.js";
import { unknownKindChecks } from "./unknown-kinds.js";
import { verifyChecks } from "./verify.js";
import { watchStepsChecks } from "./watch-steps.js";
import { webChecks } from "./web.js";

function opensSession(request: object): request is SeedRequest | ForkRequest {
  const name = "$typeName" in request ? request.$typeName : "";
  return name === "touchstone.v1.SeedRequest" || name === "touchstone.v1.ForkRequest";
}

/** The environment profile. */
export const environmentSuite: ProfileSuite<EnvironmentTrial, EnvironmentServiceDescribeResponse> = {
  profile: "environment",
  probePath: `/${EnvironmentService.typeName}/${EnvironmentService.method.describe.name}`,
  checks: [
    ...describeEnvironmentChecks,
    ...listingChecks,
    ...unlistedChecks,
    ...seedChecks,
    ...stepChecks,
    ...toolStepChecks,
    ...toolChecks,
    ...verifyChecks,
    ...finalVerifyChecks,
    ...stepStreamChecks,
    ...stepBatchChecks,
    ...watchStepsChecks,
    ...metricsChecks,
    ...statelessVerifyChecks,
    ...forkChecks,
    ...stageChecks,
    ...multiAgentChecks,
    ...privilegedChecks,
    ...closeEnvironmentChecks,
    ...stepLedgerChecks,
    ...undeclaredChecks,
    ...dataChecks,
    ...unknownKindChecks,
    ...bigContentChecks,
    ...seedCapacityChecks,
    ...agentTokenChecks,
    ...webChecks,
    ...sharedChecks(sharedEnvironment),
  ],
  watches: (described, file) => [
    ...errorWatches("environment"),
    errorMetadataWatch,
    ...rewardWatches(described),
    ...privilegedWatches(file?.environment?.privileged),
  ],
  lacks: (file) =>
    file.environment === undefined
      ? "conformance.yaml has no `environment`: `touchstone conformance init --target URL` writes one"
      : undefined,
  async describe(trial) {
    const reply = await trial.connect().client(EnvironmentService).describe({});
    return trial.judge.answer("EnvironmentService.Describe", reply);
  },
  async smoke(t) {
    const session = await t.open();
    t.judge.answer("Close", await session.close());
  },
  identity(described) {
    const { service } = described;
    return {
      name: service?.implementation?.name ?? "",
      version: service?.implementation?.version ?? "",
      instanceId: service?.instanceId ?? "",
      contractVersion: service?.contractVersion ?? "",
      features: new Set(service?.features),
      circumstances: new Set(
        described.placements.some(
          (placement) => placement !== Placement.UNSPECIFIED && placement !== Placement.NONE,
        )
          ? ["sandboxed"]
          : [],
      ),
    };
  },
  trial(trial, file, described) {
    return environmentTrial(trial, {
      fixture: trial.must(file.environment, "environment"),
      described,
    });
  },
  cleanUp(request): CleanUp | undefined {
    if (!opensSession(request)) return undefined;
    const { sessionId } = request;
    const episodeId = "context" in request ? request.context?.episodeId : undefined;
    if (sessionId === "") return undefined;
    return {
      key: sessionId,
      async close(connection) {
        const { status } = await connection
          .client(EnvironmentService)
          .close({ sessionId, ...(episodeId === undefined ? {} : { episodeId }) });
        // What was refused at Seed for its id or its episode cannot be closed under them either.
        if (status === undefined || status.code === "INVALID_ARGUMENT") return undefined;
        return `session ${sessionId} could not be closed: ${statusText(status)}`;
      },
    };
  },
};
