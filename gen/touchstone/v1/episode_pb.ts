// EpisodeService: the driver that orders an episode.
//
//     here                      Describe, Run, Attach, Stop, ReadTrajectory, Ack, AggregateMetrics
//     episode_event.proto       what a stream of Run or Attach tells
//     episode_outcome.proto     how it ends
//     episode_resource.proto    what the driver makes, and how each clean-up ended
//
// # Order
//
// Describe all, refuse pairs that cannot work; admission; Seed; OpenGateway; Open; Activate, once
// or per turn or stage; Close of the agent; CloseGateway; Verify(final); Close of the environment.
//
// E1 Each clean-up is registered, and its intent told, before the call that creates the resource.
//
// - EPI-E1-001 MUST What was created by a call whose reply is lost is closed.
// - EPI-E1-002 MUST A resource that never came to be is closed under the caller's id too.
// - EPI-E1-003 MUST resource_intent is told before each creating call.
// - EPI-E1-004 MUST An intent says enough to release: service, endpoint, kind and id.
// - EPI-E1-005 MUST resource_released follows each release.
// - EPI-E1-006 MUST At the outcome each intent is released or in clean_ups[] as not.
//
// E2 Clean-ups run in reverse, each within its own cleanup_timeout, shielded from cancellation and
// outside the episode's clock, after every kind of end.
//
// - EPI-E2-001 MUST Clean-ups run in reverse order.
// - EPI-E2-002 MUST Clean-ups run after success, failure, timeout and Stop.
// - EPI-E2-003 MUST A clean-up that hangs or fails does not stop the next.
// - EPI-E2-004 MUST Clean-ups are shielded: Stop, cancel or timeout does not interrupt them.
// - EPI-E2-005 MUST A clean-up runs once a try, not twice at once.
// - EPI-E2-006 MUST Each clean-up has its own cleanup_timeout.
// - EPI-E2-007 MUST Clean-up is outside the episode's clock.
// - EPI-E2-008 MUST An episode without a reader for orphan_grace is cleaned up.
// - EPI-E2-009 MUST orphan_grace 0 means at once; absent means 2 min.
//
// E3 A clean-up failure neither erases a verdict nor repeats the episode.
//
// - EPI-E3-001 MUST A clean-up failure stands beside the verdict, which stays.
// - EPI-E3-002 MUST A clean-up failure does not repeat the episode.
//
// E4 At most max_concurrent_episodes run (Describe: service.limits.max_sessions); a wait beyond
// queue_timeout is a refusal.
//
// - EPI-E4-001 MUST Never more than max_concurrent_episodes are past admission.
// - EPI-E4-002 MUST A queue wait beyond queue_timeout is a refusal; nothing was started.
// - EPI-E4-003 MUST The queue wait is not in the episode's clock.
// - EPI-E4-004 MUST A cap without a queue timeout is refused at start.
//
// E5 episode_timeout bounds Seed to the end of the last activation.
//
// - EPI-E5-001 MUST episode_timeout passed before the last activation's end: failure TIMEOUT,
//   then clean-up.
// - EPI-E5-002 MUST The agent's own budget spent: verify what is there.
// - EPI-E5-003 MUST Each phase has its own bound; the failure names the phase.
// - EPI-E5-004 MUST Without a value a declared default holds; nothing waits for ever.
// - EPI-E5-005 MUST episode_timeout never cuts Verify.
// - EPI-E5-006 MUST episode_timeout counts from Seed.
//
// E6 Only what a failure's `retry` says is retryable; what may have been delivered is repeated
// under its own name.
//
// - EPI-E6-001 MUST A lost dependency is retryable (NEW_ATTEMPT), with cause and delivery.
// - EPI-E6-002 MUST Anything unexpected is terminal (NEVER).
// - EPI-E6-003 MUST What may have been delivered is repeated under its own name only.
// - EPI-E6-004 MUST A refusal with RetryInfo is repeated in place within the phase's bound.
// - EPI-E6-005 MUST A call that ended without our ErrorInfo is repeated under the same name to
//   learn.
// - EPI-E6-006 MUST on_agent_failure FAIL: the agent's failure is the episode's, no Verify.
// - EPI-E6-007 MUST A Verify failure is an episode failure, no reward.
// - EPI-E6-008 MUST Refused with RetryInfo beyond the phase's bound is retryable.
// - EPI-E6-009 MUST SESSION_UNKNOWN for what the driver opened is SESSION_LOST, retryable.
// - EPI-E6-010 MUST SESSION_EXPIRED for what the driver opened is SESSION_LOST, retryable.
// - EPI-E6-011 MUST A changed instance_id is SESSION_LOST, retryable.
// - EPI-E6-012 MUST A new attempt first closes the unreleased intents of the last.
// - EPI-E6-013 MUST A NEXT_INDEX verification is repeated in place.
// - EPI-E6-014 MUST NEW_ATTEMPT from a peer is passed on; the driver starts no attempt itself.
// - EPI-E6-015 MUST UNSATISFIED_REQUIREMENT of Seed is terminal and passed on by name.
//
// E7 The driver holds no tools, no agent logic, no scoring. E8 Unknown configuration is refused.
// E9 The driver renews what it opened at a third of the lease.
//
// - EPI-E7-001 MUST The driver holds no tools, no agent logic, no scoring.
// - EPI-E8-001 MUST Unknown configuration keys are refused at start, naming the nearest.
// - EPI-E9-001 MUST The environment session is renewed at a third of its lease.
// - EPI-E9-002 MUST Agent session and gateway are renewed too.
// - EPI-E9-003 MUST The lease that the peer echoed counts, not the one asked.
//
// Gateways, and what an agent's failure does:
//
// - EPI-GATE-001 MUST The driver opens one gateway per agent session and gives Open its access.
// - EPI-GATE-002 MUST The driver reads the capture itself after the agent's Close.
// - EPI-GATE-003 MUST A ReadCapture that fails costs no verdict.
// - EPI-GATE-004 MUST No key or token is in events, outcome or trajectory.
// - EPI-AGF-001 MUST on_agent_failure VERIFY: the work is verified; the failure stands in
//   agent_end.
// - EPI-AGF-002 MUST VERIFY_MASKED: the verdict is masked with a reason.
// - EPI-AGF-003 MUST verify_attempts bounds the repeats after NEXT_INDEX, each under the next
//   index.
//
// Drivers:
//
// - EPI-DRV-001 MUST [multi_turn] multi_turn activates whom next_agents names and Steps what was
//   said, until nobody is next.
// - EPI-DRV-003 MUST [harbor] harbor verifies every stage and Advances after each but the last.
// - EPI-DRV-004 MUST [multi_turn] multi_turn gives each agent its own session, items and reward.
// - EPI-DRV-005 MUST [external] external relays Run, checks ids, says authority EXTERNAL and
//   makes up no reward.
// - EPI-DRV-006 MUST [single_agent_turn] single_agent_turn makes one activation, index 0, then
//   Close and Verify.
// - EPI-DRV-007 MUST [harbor] harbor by default opens a session a stage, closed before its
//   Verify.
// - EPI-DRV-008 MUST [harbor] harbor with turn_sessions continue verifies every stage but the
//   last before Close.
// - EPI-DRV-009 MUST [harbor] harbor ends the episode at episode_over.
// - EPI-DRV-010 MUST [external] external relays Stop.
// - EPI-DRV-011 MUST [multi_turn] multi_turn closes all agent sessions before the final Verify,
//   last opened first.
// - EPI-DRV-012 MAY Drivers may be loaded from outside the package.
//
// Refusals that any call may meet are those that environment.proto lists at its head; episodes
// stand for sessions.

// @generated by protoc-gen-es v2.13.0 with parameter "target=ts,import_extension=js"
// @generated from file touchstone/v1/episode.proto (package touchstone.v1, syntax proto3)
/* eslint-disable */

import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_buf_validate_validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { file_google_protobuf_duration } from "@bufbuild/protobuf/wkt";
import type { Budget } from "./budget_pb.js";
import { file_touchstone_v1_budget } from "./budget_pb.js";
import type { Item } from "./content_pb.js";
import { file_touchstone_v1_content } from "./content_pb.js";
import type { ServiceInfo } from "./describe_pb.js";
import { file_touchstone_v1_describe } from "./describe_pb.js";
import type { EnvironmentServiceAggregateMetricsRequest, EnvironmentServiceAggregateMetricsResponse } from "./environment_features_pb.js";
import { file_touchstone_v1_environment_features } from "./environment_features_pb.js";
import type { StepRecord } from "./environment_step_pb.js";
import { file_touchstone_v1_environment_step } from "./environment_step_pb.js";
import type { EpisodeEvent } from "./episode_event_pb.js";
import { file_touchstone_v1_episode_event } from "./episode_event_pb.js";
import type { ResourceIntent } from "./episode_resource_pb.js";
import { file_touchstone_v1_episode_resource } from "./episode_resource_pb.js";
import type { EpisodeContext, EpisodeId, TaskId } from "./identity_pb.js";
import { file_touchstone_v1_identity } from "./identity_pb.js";
import type { CapturedCall, CaptureLevel } from "./model_gateway_pb.js";
import { file_touchstone_v1_model_gateway } from "./model_gateway_pb.js";
import type { Sampling } from "./model_generate_pb.js";
import { file_touchstone_v1_model_generate } from "./model_generate_pb.js";
import { file_touchstone_v1_options } from "./options_pb.js";
import type { Verdict } from "./reward_pb.js";
import { file_touchstone_v1_reward } from "./reward_pb.js";
import type { Task } from "./task_pb.js";
import { file_touchstone_v1_task } from "./task_pb.js";
import type { Message } from "@bufbuild/protobuf";

/**
 * Describes the file touchstone/v1/episode.proto.
 */
export const file_touchstone_v1_episode: GenFile = /*@__PURE__*/
  fileDesc("Cht0b3VjaHN0b25lL3YxL2VwaXNvZGUucHJvdG8SDXRvdWNoc3RvbmUudjEiHwodRXBpc29kZVNlcnZpY2VEZXNjcmliZVJlcXVlc3QixwEKHkVwaXNvZGVTZXJ2aWNlRGVzY3JpYmVSZXNwb25zZRIrCgdzZXJ2aWNlGAEgASgLMhoudG91Y2hzdG9uZS52MS5TZXJ2aWNlSW5mbxIPCgdkcml2ZXJzGAIgAygJEi0KCGJpbmRpbmdzGAMgASgLMhsudG91Y2hzdG9uZS52MS5CaW5kaW5nTmFtZXMSOAoQZGVmYXVsdF90aW1lb3V0cxgEIAEoCzIeLnRvdWNoc3RvbmUudjEuRXBpc29kZVRpbWVvdXRzIlcKDEJpbmRpbmdOYW1lcxIUCgxlbnZpcm9ubWVudHMYASADKAkSDgoGYWdlbnRzGAIgAygJEg4KBm1vZGVscxgDIAMoCRIRCglzYW5kYm94ZXMYBCADKAkixgIKD0VwaXNvZGVUaW1lb3V0cxIoCgVxdWV1ZRgBIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhIqCgdlcGlzb2RlGAIgASgLMhkuZ29vZ2xlLnByb3RvYnVmLkR1cmF0aW9uEicKBHNlZWQYAyABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24SJwoEb3BlbhgEIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhItCgphY3RpdmF0aW9uGAUgASgLMhkuZ29vZ2xlLnByb3RvYnVmLkR1cmF0aW9uEi8KDHZlcmlmaWNhdGlvbhgGIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhIrCghjbGVhbl91cBgHIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbiL0BQoKUnVuUmVxdWVzdBI2Cgdjb250ZXh0GAEgASgLMh0udG91Y2hzdG9uZS52MS5FcGlzb2RlQ29udGV4dEIGukgDyAEBEiMKBHRhc2sYAiABKAsyEy50b3VjaHN0b25lLnYxLlRhc2tIABIoCgd0YXNrX2lkGAMgASgLMhUudG91Y2hzdG9uZS52MS5UYXNrSWRIABIOCgZkcml2ZXIYBCABKAkSHAoLZW52aXJvbm1lbnQYBSABKAlCB7pIBHICEAESKwoGYWdlbnRzGAYgAygLMhsudG91Y2hzdG9uZS52MS5BZ2VudEJpbmRpbmcSDwoHc2FuZGJveBgHIAEoCRImCghlbnZfc2VlZBgIIAEoBEIPukgMMgoY//////////9/SAGIAQESMAoIdGltZW91dHMYCSABKAsyHi50b3VjaHN0b25lLnYxLkVwaXNvZGVUaW1lb3V0cxJBChBvbl9hZ2VudF9mYWlsdXJlGAogASgOMh0udG91Y2hzdG9uZS52MS5PbkFnZW50RmFpbHVyZUIIukgFggECEAESJQoPdmVyaWZ5X2F0dGVtcHRzGAsgASgNQge6SAQqAigBSAKIAQESMQoKdW5yZWxlYXNlZBgMIAMoCzIdLnRvdWNoc3RvbmUudjEuUmVzb3VyY2VJbnRlbnQSNgoHY2FwdHVyZRgNIAEoDjIbLnRvdWNoc3RvbmUudjEuQ2FwdHVyZUxldmVsQgi6SAWCAQIQARIVCg1pbmNsdWRlX2l0ZW1zGA4gASgIEhYKDmdpdmVfcmVmZXJlbmNlGA8gASgIEi8KDG9ycGhhbl9ncmFjZRgQIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhIUCgxvcHRpb25zX2pzb24YESABKAkSHAoOYWZ0ZXJfc2VxdWVuY2UYHiABKARCBNC/GAFCDwoGc291cmNlEgW6SAIIAUILCglfZW52X3NlZWRCEgoQX3ZlcmlmeV9hdHRlbXB0cyLwAQoMQWdlbnRCaW5kaW5nEjsKCGFnZW50X2lkGAEgASgJQim6SCZyJDIiXltBLVphLXowLTldW0EtWmEtejAtOS5fLV17MCwxMjd9JBIWCgVhZ2VudBgCIAEoCUIHukgEcgIQARINCgVtb2RlbBgDIAEoCRIpCghzYW1wbGluZxgEIAEoCzIXLnRvdWNoc3RvbmUudjEuU2FtcGxpbmcSJQoGYnVkZ2V0GAUgASgLMhUudG91Y2hzdG9uZS52MS5CdWRnZXQSFAoMaW5zdHJ1Y3Rpb25zGAYgASgJEhQKDG9wdGlvbnNfanNvbhgHIAEoCSI5CgtSdW5SZXNwb25zZRIqCgVldmVudBgBIAEoCzIbLnRvdWNoc3RvbmUudjEuRXBpc29kZUV2ZW50Il0KDUF0dGFjaFJlcXVlc3QSNAoKZXBpc29kZV9pZBgBIAEoCzIYLnRvdWNoc3RvbmUudjEuRXBpc29kZUlkQga6SAPIAQESFgoOYWZ0ZXJfc2VxdWVuY2UYAiABKAQiPAoOQXR0YWNoUmVzcG9uc2USKgoFZXZlbnQYASABKAsyGy50b3VjaHN0b25lLnYxLkVwaXNvZGVFdmVudCKQAQoLU3RvcFJlcXVlc3QSNAoKZXBpc29kZV9pZBgBIAEoCzIYLnRvdWNoc3RvbmUudjEuRXBpc29kZUlkQga6SAPIAQESMQoEbW9kZRgCIAEoDjIXLnRvdWNoc3RvbmUudjEuU3RvcE1vZGVCCrpIB4IBBBABIAASGAoGcmVhc29uGAMgASgJQgi6SAVyAyjQDyInCgxTdG9wUmVzcG9uc2USFwoPYWxyZWFkeV9zdG9wcGVkGAEgASgIImUKFVJlYWRUcmFqZWN0b3J5UmVxdWVzdBI0CgplcGlzb2RlX2lkGAEgASgLMhgudG91Y2hzdG9uZS52MS5FcGlzb2RlSWRCBrpIA8gBARIWCg5hZnRlcl9zZXF1ZW5jZRgCIAEoBCL0AQoWUmVhZFRyYWplY3RvcnlSZXNwb25zZRIQCghzZXF1ZW5jZRgBIAEoBBIQCghhZ2VudF9pZBgCIAEoCRIjCgRpdGVtGAMgASgLMhMudG91Y2hzdG9uZS52MS5JdGVtSAASKQoEc3RlcBgEIAEoCzIZLnRvdWNoc3RvbmUudjEuU3RlcFJlY29yZEgAEisKBGNhbGwYBSABKAsyGy50b3VjaHN0b25lLnYxLkNhcHR1cmVkQ2FsbEgAEi8KDXN0YWdlX3ZlcmRpY3QYBiABKAsyFi50b3VjaHN0b25lLnYxLlZlcmRpY3RIAEIICgZyZWNvcmQiQgoKQWNrUmVxdWVzdBI0CgplcGlzb2RlX2lkGAEgASgLMhgudG91Y2hzdG9uZS52MS5FcGlzb2RlSWRCBrpIA8gBASIkCgtBY2tSZXNwb25zZRIVCg1hbHJlYWR5X2Fja2VkGAEgASgIIocBCiVFcGlzb2RlU2VydmljZUFnZ3JlZ2F0ZU1ldHJpY3NSZXF1ZXN0EhMKC2Vudmlyb25tZW50GAEgASgJEkkKB3JlcXVlc3QYAiABKAsyOC50b3VjaHN0b25lLnYxLkVudmlyb25tZW50U2VydmljZUFnZ3JlZ2F0ZU1ldHJpY3NSZXF1ZXN0InUKJkVwaXNvZGVTZXJ2aWNlQWdncmVnYXRlTWV0cmljc1Jlc3BvbnNlEksKCHJlc3BvbnNlGAEgASgLMjkudG91Y2hzdG9uZS52MS5FbnZpcm9ubWVudFNlcnZpY2VBZ2dyZWdhdGVNZXRyaWNzUmVzcG9uc2UqjgEKDk9uQWdlbnRGYWlsdXJlEiAKHE9OX0FHRU5UX0ZBSUxVUkVfVU5TUEVDSUZJRUQQABIZChVPTl9BR0VOVF9GQUlMVVJFX0ZBSUwQARIbChdPTl9BR0VOVF9GQUlMVVJFX1ZFUklGWRACEiIKHk9OX0FHRU5UX0ZBSUxVUkVfVkVSSUZZX01BU0tFRBADKlIKCFN0b3BNb2RlEhkKFVNUT1BfTU9ERV9VTlNQRUNJRklFRBAAEhUKEVNUT1BfTU9ERV9BQkFORE9OEAESFAoQU1RPUF9NT0RFX0ZJTklTSBACMuYECg5FcGlzb2RlU2VydmljZRJnCghEZXNjcmliZRIsLnRvdWNoc3RvbmUudjEuRXBpc29kZVNlcnZpY2VEZXNjcmliZVJlcXVlc3QaLS50b3VjaHN0b25lLnYxLkVwaXNvZGVTZXJ2aWNlRGVzY3JpYmVSZXNwb25zZRI+CgNSdW4SGS50b3VjaHN0b25lLnYxLlJ1blJlcXVlc3QaGi50b3VjaHN0b25lLnYxLlJ1blJlc3BvbnNlMAESRwoGQXR0YWNoEhwudG91Y2hzdG9uZS52MS5BdHRhY2hSZXF1ZXN0Gh0udG91Y2hzdG9uZS52MS5BdHRhY2hSZXNwb25zZTABEj8KBFN0b3ASGi50b3VjaHN0b25lLnYxLlN0b3BSZXF1ZXN0GhsudG91Y2hzdG9uZS52MS5TdG9wUmVzcG9uc2USXwoOUmVhZFRyYWplY3RvcnkSJC50b3VjaHN0b25lLnYxLlJlYWRUcmFqZWN0b3J5UmVxdWVzdBolLnRvdWNoc3RvbmUudjEuUmVhZFRyYWplY3RvcnlSZXNwb25zZTABEjwKA0FjaxIZLnRvdWNoc3RvbmUudjEuQWNrUmVxdWVzdBoaLnRvdWNoc3RvbmUudjEuQWNrUmVzcG9uc2USgQEKEEFnZ3JlZ2F0ZU1ldHJpY3MSNC50b3VjaHN0b25lLnYxLkVwaXNvZGVTZXJ2aWNlQWdncmVnYXRlTWV0cmljc1JlcXVlc3QaNS50b3VjaHN0b25lLnYxLkVwaXNvZGVTZXJ2aWNlQWdncmVnYXRlTWV0cmljc1Jlc3BvbnNlKAFCVQoRZGV2LnRvdWNoc3RvbmUudjFCDEVwaXNvZGVQcm90b1ABWjB0b3VjaHN0b25lLmRldi9nZW4vZ28vdG91Y2hzdG9uZS92MTt0b3VjaHN0b25ldjFiBnByb3RvMw", [file_buf_validate_validate, file_google_protobuf_duration, file_touchstone_v1_budget, file_touchstone_v1_content, file_touchstone_v1_describe, file_touchstone_v1_environment_features, file_touchstone_v1_environment_step, file_touchstone_v1_episode_event, file_touchstone_v1_episode_resource, file_touchstone_v1_identity, file_touchstone_v1_model_gateway, file_touchstone_v1_model_generate, file_touchstone_v1_options, file_touchstone_v1_reward, file_touchstone_v1_task]);

/**
 * Request of EpisodeService.Describe.
 *
 * @generated from message touchstone.v1.EpisodeServiceDescribeRequest
 */
export type EpisodeServiceDescribeRequest = Message<"touchstone.v1.EpisodeServiceDescribeRequest"> & {
};

/**
 * Describes the message touchstone.v1.EpisodeServiceDescribeRequest.
 * Use `create(EpisodeServiceDescribeRequestSchema)` to create a new message.
 */
export const EpisodeServiceDescribeRequestSchema: GenMessage<EpisodeServiceDescribeRequest> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 0);

/**
 * Answer of EpisodeService.Describe.
 *
 * @generated from message touchstone.v1.EpisodeServiceDescribeResponse
 */
export type EpisodeServiceDescribeResponse = Message<"touchstone.v1.EpisodeServiceDescribeResponse"> & {
  /**
   * What every server says.
   *
   * @generated from field: touchstone.v1.ServiceInfo service = 1;
   */
  service?: ServiceInfo | undefined;

  /**
   * Drivers that Run may name, the default first: `single_agent_turn`, `multi_turn`, `harbor`,
   * `external`.
   *
   * @generated from field: repeated string drivers = 2;
   */
  drivers: string[];

  /**
   * Names that bindings may have; never addresses.
   *
   * @generated from field: touchstone.v1.BindingNames bindings = 3;
   */
  bindings?: BindingNames | undefined;

  /**
   * Bounds that hold where Run asks for none; each set.
   *
   * @generated from field: touchstone.v1.EpisodeTimeouts default_timeouts = 4;
   */
  defaultTimeouts?: EpisodeTimeouts | undefined;
};

/**
 * Describes the message touchstone.v1.EpisodeServiceDescribeResponse.
 * Use `create(EpisodeServiceDescribeResponseSchema)` to create a new message.
 */
export const EpisodeServiceDescribeResponseSchema: GenMessage<EpisodeServiceDescribeResponse> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 1);

/**
 * Names of servers that can be bound.
 *
 * @generated from message touchstone.v1.BindingNames
 */
export type BindingNames = Message<"touchstone.v1.BindingNames"> & {
  /**
   * Environments.
   *
   * @generated from field: repeated string environments = 1;
   */
  environments: string[];

  /**
   * Agents.
   *
   * @generated from field: repeated string agents = 2;
   */
  agents: string[];

  /**
   * Models.
   *
   * @generated from field: repeated string models = 3;
   */
  models: string[];

  /**
   * Sandboxes: values for SeedRequest.sandbox_provider.
   *
   * @generated from field: repeated string sandboxes = 4;
   */
  sandboxes: string[];
};

/**
 * Describes the message touchstone.v1.BindingNames.
 * Use `create(BindingNamesSchema)` to create a new message.
 */
export const BindingNamesSchema: GenMessage<BindingNames> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 2);

/**
 * Bounds of an episode's phases, each apart. Absent: the driver's default.
 *
 * @generated from message touchstone.v1.EpisodeTimeouts
 */
export type EpisodeTimeouts = Message<"touchstone.v1.EpisodeTimeouts"> & {
  /**
   * Wait for a place. Passed: refused ADMISSION_TIMEOUT.
   *
   * @generated from field: google.protobuf.Duration queue = 1;
   */
  queue?: Duration | undefined;

  /**
   * From Seed to the end of the last activation. Passed: failure TIMEOUT, stage ACTIVATE.
   *
   * @generated from field: google.protobuf.Duration episode = 2;
   */
  episode?: Duration | undefined;

  /**
   * Seed.
   *
   * @generated from field: google.protobuf.Duration seed = 3;
   */
  seed?: Duration | undefined;

  /**
   * Open and OpenGateway, each.
   *
   * @generated from field: google.protobuf.Duration open = 4;
   */
  open?: Duration | undefined;

  /**
   * Each activation.
   *
   * @generated from field: google.protobuf.Duration activation = 5;
   */
  activation?: Duration | undefined;

  /**
   * Each verification.
   *
   * @generated from field: google.protobuf.Duration verification = 6;
   */
  verification?: Duration | undefined;

  /**
   * Each clean-up.
   *
   * @generated from field: google.protobuf.Duration clean_up = 7;
   */
  cleanUp?: Duration | undefined;
};

/**
 * Describes the message touchstone.v1.EpisodeTimeouts.
 * Use `create(EpisodeTimeoutsSchema)` to create a new message.
 */
export const EpisodeTimeoutsSchema: GenMessage<EpisodeTimeouts> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 3);

/**
 * Request of EpisodeService.Run.
 *
 * @generated from message touchstone.v1.RunRequest
 */
export type RunRequest = Message<"touchstone.v1.RunRequest"> & {
  /**
   * The episode. Required.
   *
   * @generated from field: touchstone.v1.EpisodeContext context = 1;
   */
  context?: EpisodeContext | undefined;

  /**
   * The task. Required.
   *
   * @generated from oneof touchstone.v1.RunRequest.source
   */
  source: {
    /**
     * The whole task.
     *
     * @generated from field: touchstone.v1.Task task = 2;
     */
    value: Task;
    case: "task";
  } | {
    /**
     * A task of the environment's own listing. [the environment's feature TASK_LISTING]
     *
     * @generated from field: touchstone.v1.TaskId task_id = 3;
     */
    value: TaskId;
    case: "taskId";
  } | { case: undefined; value?: undefined };

  /**
   * Driver, one of Describe's. Empty: the first.
   *
   * @generated from field: string driver = 4;
   */
  driver: string;

  /**
   * The environment's name. Required.
   *
   * @generated from field: string environment = 5;
   */
  environment: string;

  /**
   * Who plays each agent. Empty: allowed for `external` only.
   *
   * @generated from field: repeated touchstone.v1.AgentBinding agents = 6;
   */
  agents: AgentBinding[];

  /**
   * Where boxes come from. Empty: the environment's default.
   *
   * @generated from field: string sandbox = 7;
   */
  sandbox: string;

  /**
   * Seed of the world. Absent: the environment picks.
   *
   * @generated from field: optional uint64 env_seed = 8;
   */
  envSeed?: bigint | undefined;

  /**
   * Bounds of the phases.
   *
   * @generated from field: touchstone.v1.EpisodeTimeouts timeouts = 9;
   */
  timeouts?: EpisodeTimeouts | undefined;

  /**
   * What an agent's failure does.
   *
   * @generated from field: touchstone.v1.OnAgentFailure on_agent_failure = 10;
   */
  onAgentFailure: OnAgentFailure;

  /**
   * Verifications at most, where they fail with NEXT_INDEX. Absent: 1.
   *
   * @generated from field: optional uint32 verify_attempts = 11;
   */
  verifyAttempts?: number | undefined;

  /**
   * Intents that an earlier attempt told and did not release; they are closed first.
   *
   * @generated from field: repeated touchstone.v1.ResourceIntent unreleased = 12;
   */
  unreleased: ResourceIntent[];

  /**
   * What is captured of the model's calls.
   *
   * @generated from field: touchstone.v1.CaptureLevel capture = 13;
   */
  capture: CaptureLevel;

  /**
   * Tell agents' items as events.
   *
   * @generated from field: bool include_items = 14;
   */
  includeItems: boolean;

  /**
   * Copy the task's reference to agents that declare REFERENCE; said in the outcome.
   *
   * @generated from field: bool give_reference = 15;
   */
  giveReference: boolean;

  /**
   * Time without a reader after which the episode is ended as by Stop ABANDON. Absent: 2 minutes;
   * 0: at once.
   *
   * @generated from field: google.protobuf.Duration orphan_grace = 16;
   */
  orphanGrace?: Duration | undefined;

  /**
   * The driver's own options: JSON object text, or empty.
   *
   * @generated from field: string options_json = 17;
   */
  optionsJson: string;

  /**
   * Resume behind this event (R17).
   *
   * @generated from field: uint64 after_sequence = 30;
   */
  afterSequence: bigint;
};

/**
 * Describes the message touchstone.v1.RunRequest.
 * Use `create(RunRequestSchema)` to create a new message.
 */
export const RunRequestSchema: GenMessage<RunRequest> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 4);

/**
 * Who plays an agent, by names that the driver is configured with; an address is refused.
 *
 * @generated from message touchstone.v1.AgentBinding
 */
export type AgentBinding = Message<"touchstone.v1.AgentBinding"> & {
  /**
   * The agent. Required.
   *
   * @generated from field: string agent_id = 1;
   */
  agentId: string;

  /**
   * The agent server's name. Required.
   *
   * @generated from field: string agent = 2;
   */
  agent: string;

  /**
   * The model server's name. Empty: the agent needs none.
   *
   * @generated from field: string model = 3;
   */
  model: string;

  /**
   * Sampling of its gateway.
   *
   * @generated from field: touchstone.v1.Sampling sampling = 4;
   */
  sampling?: Sampling | undefined;

  /**
   * Budget of each activation.
   *
   * @generated from field: touchstone.v1.Budget budget = 5;
   */
  budget?: Budget | undefined;

  /**
   * System prompt; empty: the harness's own.
   *
   * @generated from field: string instructions = 6;
   */
  instructions: string;

  /**
   * OpenRequest.options_json.
   *
   * @generated from field: string options_json = 7;
   */
  optionsJson: string;
};

/**
 * Describes the message touchstone.v1.AgentBinding.
 * Use `create(AgentBindingSchema)` to create a new message.
 */
export const AgentBindingSchema: GenMessage<AgentBinding> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 5);

/**
 * One event of an episode.
 *
 * @generated from message touchstone.v1.RunResponse
 */
export type RunResponse = Message<"touchstone.v1.RunResponse"> & {
  /**
   * The event.
   *
   * @generated from field: touchstone.v1.EpisodeEvent event = 1;
   */
  event?: EpisodeEvent | undefined;
};

/**
 * Describes the message touchstone.v1.RunResponse.
 * Use `create(RunResponseSchema)` to create a new message.
 */
export const RunResponseSchema: GenMessage<RunResponse> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 6);

/**
 * Request of EpisodeService.Attach.
 *
 * @generated from message touchstone.v1.AttachRequest
 */
export type AttachRequest = Message<"touchstone.v1.AttachRequest"> & {
  /**
   * The episode. Required.
   *
   * @generated from field: touchstone.v1.EpisodeId episode_id = 1;
   */
  episodeId?: EpisodeId | undefined;

  /**
   * Begin behind this event; 0: from the start.
   *
   * @generated from field: uint64 after_sequence = 2;
   */
  afterSequence: bigint;
};

/**
 * Describes the message touchstone.v1.AttachRequest.
 * Use `create(AttachRequestSchema)` to create a new message.
 */
export const AttachRequestSchema: GenMessage<AttachRequest> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 7);

/**
 * One event of an episode.
 *
 * @generated from message touchstone.v1.AttachResponse
 */
export type AttachResponse = Message<"touchstone.v1.AttachResponse"> & {
  /**
   * The event.
   *
   * @generated from field: touchstone.v1.EpisodeEvent event = 1;
   */
  event?: EpisodeEvent | undefined;
};

/**
 * Describes the message touchstone.v1.AttachResponse.
 * Use `create(AttachResponseSchema)` to create a new message.
 */
export const AttachResponseSchema: GenMessage<AttachResponse> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 8);

/**
 * Request of EpisodeService.Stop.
 *
 * @generated from message touchstone.v1.StopRequest
 */
export type StopRequest = Message<"touchstone.v1.StopRequest"> & {
  /**
   * The episode. Required.
   *
   * @generated from field: touchstone.v1.EpisodeId episode_id = 1;
   */
  episodeId?: EpisodeId | undefined;

  /**
   * How. Required.
   *
   * @generated from field: touchstone.v1.StopMode mode = 2;
   */
  mode: StopMode;

  /**
   * Why; stands in the outcome.
   *
   * @generated from field: string reason = 3;
   */
  reason: string;
};

/**
 * Describes the message touchstone.v1.StopRequest.
 * Use `create(StopRequestSchema)` to create a new message.
 */
export const StopRequestSchema: GenMessage<StopRequest> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 9);

/**
 * Answer of EpisodeService.Stop.
 *
 * @generated from message touchstone.v1.StopResponse
 */
export type StopResponse = Message<"touchstone.v1.StopResponse"> & {
  /**
   * It was stopped in this mode, or had ended, before.
   *
   * @generated from field: bool already_stopped = 1;
   */
  alreadyStopped: boolean;
};

/**
 * Describes the message touchstone.v1.StopResponse.
 * Use `create(StopResponseSchema)` to create a new message.
 */
export const StopResponseSchema: GenMessage<StopResponse> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 10);

/**
 * Request of EpisodeService.ReadTrajectory.
 *
 * @generated from message touchstone.v1.ReadTrajectoryRequest
 */
export type ReadTrajectoryRequest = Message<"touchstone.v1.ReadTrajectoryRequest"> & {
  /**
   * The episode. Required.
   *
   * @generated from field: touchstone.v1.EpisodeId episode_id = 1;
   */
  episodeId?: EpisodeId | undefined;

  /**
   * Begin behind this record; 0: from the start.
   *
   * @generated from field: uint64 after_sequence = 2;
   */
  afterSequence: bigint;
};

/**
 * Describes the message touchstone.v1.ReadTrajectoryRequest.
 * Use `create(ReadTrajectoryRequestSchema)` to create a new message.
 */
export const ReadTrajectoryRequestSchema: GenMessage<ReadTrajectoryRequest> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 11);

/**
 * One record of a trajectory.
 *
 * @generated from message touchstone.v1.ReadTrajectoryResponse
 */
export type ReadTrajectoryResponse = Message<"touchstone.v1.ReadTrajectoryResponse"> & {
  /**
   * Place in the trajectory, from 1.
   *
   * @generated from field: uint64 sequence = 1;
   */
  sequence: bigint;

  /**
   * Whose; empty: the environment's.
   *
   * @generated from field: string agent_id = 2;
   */
  agentId: string;

  /**
   * What is recorded.
   *
   * @generated from oneof touchstone.v1.ReadTrajectoryResponse.record
   */
  record: {
    /**
     * Something said, done or answered.
     *
     * @generated from field: touchstone.v1.Item item = 3;
     */
    value: Item;
    case: "item";
  } | {
    /**
     * A step with its rewards.
     *
     * @generated from field: touchstone.v1.StepRecord step = 4;
     */
    value: StepRecord;
    case: "step";
  } | {
    /**
     * A model call, as captured.
     *
     * @generated from field: touchstone.v1.CapturedCall call = 5;
     */
    value: CapturedCall;
    case: "call";
  } | {
    /**
     * A verdict that ended a stage.
     *
     * @generated from field: touchstone.v1.Verdict stage_verdict = 6;
     */
    value: Verdict;
    case: "stageVerdict";
  } | { case: undefined; value?: undefined };
};

/**
 * Describes the message touchstone.v1.ReadTrajectoryResponse.
 * Use `create(ReadTrajectoryResponseSchema)` to create a new message.
 */
export const ReadTrajectoryResponseSchema: GenMessage<ReadTrajectoryResponse> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 12);

/**
 * Request of EpisodeService.Ack.
 *
 * @generated from message touchstone.v1.AckRequest
 */
export type AckRequest = Message<"touchstone.v1.AckRequest"> & {
  /**
   * The episode. Required.
   *
   * @generated from field: touchstone.v1.EpisodeId episode_id = 1;
   */
  episodeId?: EpisodeId | undefined;
};

/**
 * Describes the message touchstone.v1.AckRequest.
 * Use `create(AckRequestSchema)` to create a new message.
 */
export const AckRequestSchema: GenMessage<AckRequest> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 13);

/**
 * Answer of EpisodeService.Ack.
 *
 * @generated from message touchstone.v1.AckResponse
 */
export type AckResponse = Message<"touchstone.v1.AckResponse"> & {
  /**
   * It was acknowledged before.
   *
   * @generated from field: bool already_acked = 1;
   */
  alreadyAcked: boolean;
};

/**
 * Describes the message touchstone.v1.AckResponse.
 * Use `create(AckResponseSchema)` to create a new message.
 */
export const AckResponseSchema: GenMessage<AckResponse> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 14);

/**
 * Some of the episodes to aggregate; the stream holds them all.
 *
 * @generated from message touchstone.v1.EpisodeServiceAggregateMetricsRequest
 */
export type EpisodeServiceAggregateMetricsRequest = Message<"touchstone.v1.EpisodeServiceAggregateMetricsRequest"> & {
  /**
   * Name of the environment. Required in the first message.
   *
   * @generated from field: string environment = 1;
   */
  environment: string;

  /**
   * What goes to it.
   *
   * @generated from field: touchstone.v1.EnvironmentServiceAggregateMetricsRequest request = 2;
   */
  request?: EnvironmentServiceAggregateMetricsRequest | undefined;
};

/**
 * Describes the message touchstone.v1.EpisodeServiceAggregateMetricsRequest.
 * Use `create(EpisodeServiceAggregateMetricsRequestSchema)` to create a new message.
 */
export const EpisodeServiceAggregateMetricsRequestSchema: GenMessage<EpisodeServiceAggregateMetricsRequest> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 15);

/**
 * Answer of EpisodeService.AggregateMetrics.
 *
 * @generated from message touchstone.v1.EpisodeServiceAggregateMetricsResponse
 */
export type EpisodeServiceAggregateMetricsResponse = Message<"touchstone.v1.EpisodeServiceAggregateMetricsResponse"> & {
  /**
   * What it answered.
   *
   * @generated from field: touchstone.v1.EnvironmentServiceAggregateMetricsResponse response = 1;
   */
  response?: EnvironmentServiceAggregateMetricsResponse | undefined;
};

/**
 * Describes the message touchstone.v1.EpisodeServiceAggregateMetricsResponse.
 * Use `create(EpisodeServiceAggregateMetricsResponseSchema)` to create a new message.
 */
export const EpisodeServiceAggregateMetricsResponseSchema: GenMessage<EpisodeServiceAggregateMetricsResponse> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_episode, 16);

/**
 * What an agent's failure does.
 *
 * @generated from enum touchstone.v1.OnAgentFailure
 */
export enum OnAgentFailure {
  /**
   * FAIL.
   *
   * @generated from enum value: ON_AGENT_FAILURE_UNSPECIFIED = 0;
   */
  UNSPECIFIED = 0,

  /**
   * It is the episode's failure.
   *
   * @generated from enum value: ON_AGENT_FAILURE_FAIL = 1;
   */
  FAIL = 1,

  /**
   * The work is verified; the failure stands in agent_ends.
   *
   * @generated from enum value: ON_AGENT_FAILURE_VERIFY = 2;
   */
  VERIFY = 2,

  /**
   * The same, and the verdict is masked.
   *
   * @generated from enum value: ON_AGENT_FAILURE_VERIFY_MASKED = 3;
   */
  VERIFY_MASKED = 3,
}

/**
 * Describes the enum touchstone.v1.OnAgentFailure.
 */
export const OnAgentFailureSchema: GenEnum<OnAgentFailure> = /*@__PURE__*/
  enumDesc(file_touchstone_v1_episode, 0);

/**
 * How an episode is stopped.
 *
 * @generated from enum touchstone.v1.StopMode
 */
export enum StopMode {
  /**
   * Refused in a request.
   *
   * @generated from enum value: STOP_MODE_UNSPECIFIED = 0;
   */
  UNSPECIFIED = 0,

  /**
   * Cancel, no Verify, clean up: failure CANCELLED. Wins over an earlier FINISH.
   *
   * @generated from enum value: STOP_MODE_ABANDON = 1;
   */
  ABANDON = 1,

  /**
   * End the turn and verify what is there.
   *
   * @generated from enum value: STOP_MODE_FINISH = 2;
   */
  FINISH = 2,
}

/**
 * Describes the enum touchstone.v1.StopMode.
 */
export const StopModeSchema: GenEnum<StopMode> = /*@__PURE__*/
  enumDesc(file_touchstone_v1_episode, 1);

/**
 * The driver: it orders an episode and scores nothing.
 *
 * @generated from service touchstone.v1.EpisodeService
 */
export const EpisodeService: GenService<{
  /**
   * What this driver is and can bind. [core] A read.
   *
   * - EPI-DESC-001 MUST Describe names drivers and bindings, no addresses.
   *
   * @generated from rpc touchstone.v1.EpisodeService.Describe
   */
  describe: {
    methodKind: "unary";
    input: typeof EpisodeServiceDescribeRequestSchema;
    output: typeof EpisodeServiceDescribeResponseSchema;
  },
  /**
   * Runs one episode. [core] An operation named by context.episode_id; a stream (R17) whose
   * terminal event is `outcome`.
   *
   * Refusals: NAME_UNKNOWN (a driver or binding, its path in BadRequest), UNSATISFIED_REQUIREMENT
   * (pairs that cannot work), CAPACITY, ADMISSION_TIMEOUT, DRAINING. Failure: in the outcome.
   *
   * - EPI-RUN-002 MUST [single_agent_turn] Order: Describe all, Seed, OpenGateway, Open,
   *   Activate, Close agent, CloseGateway, Verify(final), Close environment.
   * - EPI-RUN-004 MUST Each agent's input, tools, accesses and sandbox access reach its Open and
   *   Activate unchanged.
   * - EPI-RUN-005 MUST The verdict is passed on unchanged.
   * - EPI-RUN-006 MUST Privileged task data reach the environment only (the reference of an agent
   *   declaring REFERENCE apart).
   * - EPI-RUN-007 MUST Timings are told per phase, queue apart.
   * - EPI-RUN-008 MUST Episodes are independent.
   * - EPI-RUN-010 MUST An agent that needed a model and never called it: NO_MODEL_CALLS, no
   *   verdict.
   * - EPI-RUN-011 MUST A task of another environment than the bound one ends in its refusal,
   *   retry NEVER.
   * - EPI-RUN-012 MUST Environment, agents, models, sandbox are bound by name; an unknown name is
   *   refused, nothing starts.
   * - EPI-RUN-013 MUST An address as a binding is refused.
   * - EPI-RUN-014 MUST env_seed reaches Seed exactly.
   * - EPI-RUN-015 MUST sampling reaches the gateway, budgets reach Open and Activate.
   * - EPI-RUN-016 MUST Verify gets submission, agent_end per agent and verifier_state as they
   *   were given.
   * - EPI-RUN-017 MUST Pairs that cannot work are refused before Seed, naming what is missing.
   * - EPI-RUN-018 MUST The agent's sandbox_requirements go into Seed.agent_requirements.
   * - EPI-RUN-019 MUST An endpoint that a peer answers is used for what follows.
   * - EPI-RUN-020 MUST What a peer echoes weaker than asked is not taken silently.
   * - EPI-RUN-021 MUST [multi_turn] sandbox_provider and each agent's model are those bound.
   *
   * @generated from rpc touchstone.v1.EpisodeService.Run
   */
  run: {
    methodKind: "server_streaming";
    input: typeof RunRequestSchema;
    output: typeof RunResponseSchema;
  },
  /**
   * Follows an episode without its request. [core] A read; starts nothing. Its reader counts: the
   * episode is no orphan.
   *
   * - EPI-ATT-001 MUST Attach follows a running or ended episode from after_sequence on.
   * - EPI-ATT-002 MUST Attach to an unknown episode is NOT_FOUND and starts nothing.
   * - EPI-ATT-003 MUST A reader by Attach ends orphaning.
   *
   * @generated from rpc touchstone.v1.EpisodeService.Attach
   */
  attach: {
    methodKind: "server_streaming";
    input: typeof AttachRequestSchema;
    output: typeof AttachResponseSchema;
  },
  /**
   * Ends an episode early. [core] Idempotent; answers at once, the outcome follows in the stream.
   *
   * - EPI-STOP-001 MUST Stop ABANDON ends the episode: failure CANCELLED, no Verify, clean-up
   *   done.
   * - EPI-STOP-003 MUST Stop FINISH ends the agent's turn and verifies what is there.
   * - EPI-STOP-004 MUST Stop again says already; Stop of an unknown episode is NOT_FOUND.
   * - EPI-STOP-005 MUST Stop of an ended episode changes nothing.
   * - EPI-STOP-006 MUST The reason given is in the outcome.
   *
   * @generated from rpc touchstone.v1.EpisodeService.Stop
   */
  stop: {
    methodKind: "unary";
    input: typeof StopRequestSchema;
    output: typeof StopResponseSchema;
  },
  /**
   * What was said, done and earned. [core] A read; works after failures, until Ack.
   *
   * - EPI-TRAJ-001 MUST ReadTrajectory gives the whole trajectory in parts, also after a failure.
   *
   * @generated from rpc touchstone.v1.EpisodeService.ReadTrajectory
   */
  readTrajectory: {
    methodKind: "server_streaming";
    input: typeof ReadTrajectoryRequestSchema;
    output: typeof ReadTrajectoryResponseSchema;
  },
  /**
   * The caller has stored the outcome: events and trajectory may go, the name stays. [core]
   * Idempotent.
   *
   * Refusals: SESSION_BUSY (it still runs).
   *
   * - EPI-ACK-001 MUST After Ack a Run of that name is replayed or ANSWER_EXPIRED, never run.
   * - EPI-ACK-002 MUST Ack is idempotent.
   *
   * @generated from rpc touchstone.v1.EpisodeService.Ack
   */
  ack: {
    methodKind: "unary";
    input: typeof AckRequestSchema;
    output: typeof AckResponseSchema;
  },
  /**
   * Metrics over scored episodes, forwarded to the environment. [feature METRICS] A read.
   *
   * - EPI-METR-001 MUST AggregateMetrics is forwarded to the environment, not computed.
   *
   * @generated from rpc touchstone.v1.EpisodeService.AggregateMetrics
   */
  aggregateMetrics: {
    methodKind: "client_streaming";
    input: typeof EpisodeServiceAggregateMetricsRequestSchema;
    output: typeof EpisodeServiceAggregateMetricsResponseSchema;
  },
}> = /*@__PURE__*/
  serviceDesc(file_touchstone_v1_episode, 0);

