import { create } from "@bufbuild/protobuf";
import {
  type EnvironmentServiceCloseRequest,
  EnvironmentServiceCloseRequestSchema,
  type EnvironmentServiceCloseResponse,
  EnvironmentServiceCloseResponseSchema,
} from "../../gen/index.js";
import { validate } from "../runtime/validate.js";
import type { EnvironmentContext } from "./environment-context.js";

/** Ends a session and tells how it ended (R5). */
export async function closeSession<Data, State>(
  { sessions }: EnvironmentContext<Data, State>,
  request: EnvironmentServiceCloseRequest,
): Promise<EnvironmentServiceCloseResponse> {
  validate(EnvironmentServiceCloseRequestSchema, request);
  const { session, receipt } = await sessions.close(request.sessionId, request.episodeId);
  return create(EnvironmentServiceCloseResponseSchema, {
    receipt,
    steps: session.performed("step"),
    verifications: session.performed("verification"),
    usage: {},
    taskDigest: session.state?.taskDigest ?? "",
  });
}
