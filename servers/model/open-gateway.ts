import { create } from "@bufbuild/protobuf";
import {
  CaptureLevel,
  ModelDialect,
  type OpenGatewayRequest,
  OpenGatewayRequestSchema,
  type OpenGatewayResponse,
  OpenGatewayResponseSchema,
} from "../../gen/index.js";
import { keptMessageLimit } from "../runtime/answer-limit.js";
import { fromMs } from "../runtime/duration.js";
import { fingerprint } from "../runtime/fingerprint.js";
import { newToken } from "../runtime/identity.js";
import type { Delivered } from "../runtime/ledger.js";
import { type FieldViolation, invalidField, Refusal, unsupported } from "../runtime/refusal.js";
import { Capture } from "./capture.js";
import { checkSampling } from "./check-request.js";
import type { ModelContext } from "./model-context.js";

/** Dialects that a gateway speaks. */
export const spokenDialects: readonly ModelDialect[] = [ModelDialect.TOUCHSTONE_V1];

/** Opens a gateway, or finds the operation that did (MDL-GATE-001). */
export function openGateway(
  { definition, runtime, gateways }: ModelContext,
  request: OpenGatewayRequest,
): Delivered<OpenGatewayResponse> {
  const { context, agentId, taskId, sampling } = request;
  if (context === undefined) throw invalidField("context", "is required");
  const level = request.capture === CaptureLevel.UNSPECIFIED ? CaptureLevel.ITEMS : request.capture;
  return gateways.sessions.create<OpenGatewayResponse>({
    id: request.gatewayId,
    context,
    kind: "OpenGateway",
    fingerprint: fingerprint(OpenGatewayRequestSchema, request),
    lease: request.lease,
    timeout: request.timeout,
    check() {
      checkWays(request);
      if (sampling !== undefined) checkSampling(sampling, "sampling");
      if (level === CaptureLevel.TOKENS && definition.tokens === undefined) {
        throw unsupported("TOKEN_IDS", "capture of tokens");
      }
    },
    async make(_execution, facts) {
      const key = newToken();
      gateways.keys.set(key, request.gatewayId);
      return {
        state: {
          key,
          context,
          agentId,
          taskId,
          sampling,
          capture: new Capture({
            level,
            maxMessageBytes: keptMessageLimit(runtime.limits),
            onError: (error) =>
              runtime.log.error({ gateway: request.gatewayId, err: error }, "unexpected error"),
          }),
          running: new Set(),
        },
        answer: create(OpenGatewayResponseSchema, {
          answerId: facts.answerId,
          // MDL-GATE-002: one access for each dialect.
          accesses: spokenDialects.map((dialect) => ({
            dialect,
            baseUrl: runtime.url,
            apiKey: key,
            model: definition.model,
          })),
          capture: level,
          lease: facts.lease,
          timeout: fromMs(facts.timeoutMs),
        }),
      };
    },
  });
}

/** Refuses ways to the model that this server does not have, each named. */
function checkWays({ dialects, sandbox }: OpenGatewayRequest): void {
  const unmet: FieldViolation[] = [];
  const spoken = spokenDialects.map((dialect) => ModelDialect[dialect]).join(", ");
  dialects.forEach((dialect, i) => {
    if (spokenDialects.includes(dialect)) return;
    unmet.push({
      field: `dialects[${i}]`,
      description: `${ModelDialect[dialect] ?? dialect} is not spoken here; spoken: ${spoken}`,
    });
  });
  if (sandbox !== undefined) {
    unmet.push({
      field: "sandbox",
      description: "this gateway cannot listen inside a box; open it without one",
    });
  }
  if (unmet.length === 0) return;
  const text = unmet.map(({ field, description }) => `${field}: ${description}`).join("; ");
  throw new Refusal("UNSATISFIED_REQUIREMENT", text, { violations: unmet });
}
