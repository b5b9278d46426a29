import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import {
  ActivateRequestSchema,
  AgentSessionServiceCloseRequestSchema,
  EnvironmentServiceCloseRequestSchema,
  OpenGatewayRequestSchema,
  OpenRequestSchema,
  SeedRequestSchema,
  VerifyRequestSchema,
} from "../../../gen/index.js";
import type { Part, Scene } from "../../peers/cast.js";

/** The calls that make an episode, as `part.Rpc`: renewals, reads and questions apart. */
export function orderOf(scene: Scene): string[] {
  const quiet = new Set(["Describe", "KeepAlive", "ReadCapture"]);
  return scene.calls.filter(({ rpc }) => !quiet.has(rpc)).map(({ peer, rpc }) => `${peer}.${rpc}`);
}

/** The requests of one rpc at one part, oldest first. */
export function requestsOf<D extends DescMessage>(
  scene: Scene,
  { part, rpc }: { readonly part: Part; readonly rpc: string; readonly schema: D },
): MessageShape<D>[] {
  return scene.calls
    .filter((call) => call.peer === part && call.rpc === rpc)
    .map(({ request }) => request as MessageShape<D>);
}

/** The calls that checks look into. */
export const rpcs = {
  seed: { part: "environment", rpc: "Seed", schema: SeedRequestSchema },
  verify: { part: "environment", rpc: "Verify", schema: VerifyRequestSchema },
  closeEnvironment: { part: "environment", rpc: "Close", schema: EnvironmentServiceCloseRequestSchema },
  open: { part: "agent", rpc: "Open", schema: OpenRequestSchema },
  activate: { part: "agent", rpc: "Activate", schema: ActivateRequestSchema },
  closeAgent: { part: "agent", rpc: "Close", schema: AgentSessionServiceCloseRequestSchema },
  openGateway: { part: "model", rpc: "OpenGateway", schema: OpenGatewayRequestSchema },
} as const;
