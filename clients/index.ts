/** Clients of touchstone servers: channels, typed failures, repeats that are safe, operations followed to their end. */
export { type ActivationEnd, type AgentSessionClient, agentSessionClient } from "./agent-session-client.js";
export {
  CallError,
  type CallErrorInit,
  type CallPlace,
  callErrorOfStatus,
  InstanceChangedError,
  rpcName,
} from "./call-error.js";
export type { EndpointOptions } from "./channel/endpoint.js";
export { type GrpcJsChannelOptions, grpcJsChannel } from "./channel/grpc-js-channel.js";
export { type Http2ChannelOptions, http2Channel } from "./channel/http2-channel.js";
export {
  type Answer,
  type CallInfo,
  type CallMetadata,
  type CallOptions,
  type Channel,
  type ChannelStats,
  deliveryOf,
  instanceOf,
  type ResponseStream,
} from "./channel.js";
export { type Client, type ClientCallOptions, type ClientOptions, createClient } from "./client.js";
export { type Clock, systemClock, type Timer } from "./clock.js";
export { type EnvironmentClient, environmentClient } from "./environment-client.js";
export { type EpisodeClient, episodeClient } from "./episode-client.js";
export {
  DEFAULT_IDLE_MS,
  type EventReader,
  type EventStream,
  type FollowOptions,
  followOperation,
  type OperationStream,
} from "./follow-operation.js";
export { type ModelClient, modelClient } from "./model-client.js";
export {
  DEFAULT_REPEAT_POLICY,
  type RepeatChange,
  type RepeatPolicy,
  type RepeatScope,
  repeat,
  repeatPolicy,
} from "./repeat.js";
export { type RpcKind, rpcKind } from "./rpc-kind.js";
export type { FieldViolation, StatusDetails } from "./status-details.js";
export { DEFAULT_STEP_WINDOW, type StepStream } from "./step-stream.js";
