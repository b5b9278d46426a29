import {
  ModelService,
  type ModelServiceDescribeResponse,
  type OpenGatewayRequest,
} from "../../../gen/index.js";
import type { ProfileSuite } from "../../runner/profile-suite.js";
import { statusText } from "../../subject/reply.js";
import { errorWatches } from "../shared/errors.js";
import { sharedChecks } from "../shared/index.js";
import { describing, type SharedSubject } from "../shared/shared-subject.js";
import { gatewayChecks } from "./gateway.js";
import { gatewayOperation, gatewaySessions } from "./gateway-operation.js";
import { generateChecks } from "./generate.js";
import { type ModelTrial, modelCheck, modelTrial } from "./model-trial.js";
import { tokenChecks } from "./tokens.js";

/** A model, as the rules of every service see it: its operations and sessions are gateways. */
const sharedModel: SharedSubject<ModelTrial> = {
  check: modelCheck,
  ...describing(ModelService),
  operations: [gatewayOperation],
  sessions: gatewaySessions,
};

/** The model profile. */
export const modelSuite: ProfileSuite<ModelTrial, ModelServiceDescribeResponse> = {
  profile: "model",
  probePath: `/${ModelService.typeName}/${ModelService.method.describe.name}`,
  checks: [...generateChecks, ...tokenChecks, ...gatewayChecks, ...sharedChecks(sharedModel)],
  watches: () => errorWatches("model"),
  lacks: (file) =>
    file.model === undefined
      ? "conformance.yaml has no `model`: it needs a prompt, see docs/certify.md"
      : undefined,
  async describe(trial) {
    const reply = await trial.connect().client(ModelService).describe({});
    return trial.judge.answer("ModelService.Describe", reply);
  },
  async smoke(t) {
    await t.generate();
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
    modelTrial(trial, { fixture: trial.must(file.model, "model"), described }),
  cleanUp(request) {
    if (!("$typeName" in request) || request.$typeName !== "touchstone.v1.OpenGatewayRequest")
      return undefined;
    const { gatewayId, context } = request as OpenGatewayRequest;
    if (gatewayId === "") return undefined;
    return {
      key: gatewayId,
      async close(connection) {
        const { status } = await connection.client(ModelService).closeGateway({
          gatewayId,
          ...(context?.episodeId === undefined ? {} : { episodeId: context.episodeId }),
        });
        if (status === undefined || status.code === "INVALID_ARGUMENT") return undefined;
        return `gateway ${gatewayId} could not be closed: ${statusText(status)}`;
      },
    };
  },
};
