// What went wrong: refusals as statuses, failures as data.
//
// # R4 Status or failure
//
// A gRPC status speaks of the call, a Failure of the operation.
//
// A *refusal* is a status with our google.rpc.ErrorInfo (domain `touchstone`, reason a value of
// ErrorReason without its prefix) and no Failure: nothing happened, nothing is recorded, no index
// is used, the name is free. A refused field is named in google.rpc.BadRequest by its path in the
// request (`task.input[0].item_id`). A refusal that time may cure carries google.rpc.RetryInfo.
// Details travel as gRPC libraries have them: a google.rpc.Status in trailer
// grpc-status-details-bin.
//
// A *recorded failure* started and failed. Verify, Activate, Run and Exec carry it in the answer;
// the others as status ABORTED (another attempt may help) or INTERNAL, reason OPERATION_FAILED,
// with the Failure in the details: at most 4 KiB in all, causes cut first.
//
// A status without our ErrorInfo comes from a proxy, a transport or a library: nothing is known,
// and the caller repeats under the same name to learn.
//
// Keys of ErrorInfo.metadata are part of the contract: `expected_index`, `limit`, `actual`,
// `field`, `feature`, `instance_id`, `answer_id`.
//
// - ALL-REFUSE-001 MUST A refusal changes nothing.
// - ALL-REFUSE-002 MUST A refused field is named in BadRequest.
// - ALL-REFUSE-003 MUST (E) [STEP] A refused action charges no reward.
// - ALL-REFUSE-006 MUST A refusal carries no Failure.
// - ALL-REFUSE-007 SHOULD Of several defects the first is told: size, credential, fields,
//   session, replay or conflict, order, admission.
// - ALL-REFUSE-008 MUST (EASP) A begun operation never fails with a refusal's code.
// - ALL-FAIL-004 MUST (EASP) An uncaught error is INTERNAL/OPERATION_FAILED, or a Failure where
//   the answer has one.
// - ALL-FAIL-005 MUST (EAS) An uncaught error touches no other session.
// - ALL-FAIL-009 MUST (EAS) A failure status is ABORTED where another attempt may help, else
//   INTERNAL.
// - ALL-FAIL-010 MUST Failure details of a status stay within 4 KiB, causes cut first.
// - ALL-FAIL-011 MUST (EASP) Verify, Activate, Run and Exec carry a recorded failure in the
//   answer.
// - ALL-FAIL-013 MUST (EAS) Seed, Fork, Open, Step and Create carry a recorded failure as
//   OPERATION_FAILED, Failure in the details.
// - ALL-ERR-001 MUST An error made by the service has ErrorInfo with domain `touchstone` and a
//   reason of the enum.
// - ALL-ERR-002 MUST Code and reason pair as the contract says.
// - ALL-ERR-007 MUST ErrorInfo.metadata uses expected_index, limit, actual, field, instance_id,
//   with true values.
//
// # R9 Failure
//
// The kind says what happened and implies no policy; `retry` alone says what may help. After a
// failed step, activation or Advance a session takes replays, reads, KeepAlive and Close only, all
// else is SESSION_FAILED (Verify too), unless retry is NEXT_INDEX: then it goes on. A failed Verify
// leaves it as it was. An enum number or oneof arm that a reader of an answer does not know is kept
// and never read as success. Exception text, stack traces, host paths, secrets and privileged data
// never appear in any answer.
//
// - ALL-FAIL-001 MUST A Failure has a kind; custom_kind is `vendor:name` and set exactly with
//   CUSTOM.
// - ALL-FAIL-003 MUST Exception text, stack traces and host paths appear in no answer.
// - ALL-FAIL-006 MUST (AP) In an answer an unknown enum number or arm is kept and never read as
//   success.
// - ALL-FAIL-007 SHOULD (AP) Causes name the boundary, rpc and code that saw each.
// - ALL-FAIL-008 MUST No secret appears in any answer.
// - ALL-FAIL-012 MUST Failure.retry is NEVER, NEXT_INDEX or NEW_ATTEMPT.
// - ALL-FAIL-014 MUST (EASP) A Failure names its stage, and its agent_id where it is one agent's.
// - ALL-FAIL-015 MUST (AP) A cause tells delivery truly: NOT_SENT, POSSIBLY_DELIVERED or
//   DELIVERED.
// - ALL-FAIL-016 MUST (P) The kind implies no policy: retry alone decides.
// - ALL-ORDER-004 MUST (EA) After a failed step or activation all but replays and Close is
//   refused SESSION_FAILED, unless retry is NEXT_INDEX.
// - ALL-ORDER-005 MUST (EA) After retry NEXT_INDEX the session goes on at the next index.
// - ALL-ORDER-009 MUST (EA) A failed session still replays its recorded answers.
// - ALL-REFUSE-004 MUST In a request that would act on it an unknown enum number or oneof arm is
//   INVALID_ARGUMENT.
//
// # The wire
//
// Faults that a network, a proxy or a broken client brings to a call (the *neither* of R4). Servers and
// libraries differ here, so most of it is good manners; what must hold is that nothing is done twice, half
// or by garbage, and that the server lives on.
//
// - TRN-WIRE-001 MUST After each fault below a fresh connection and a normal call work.
// - TRN-WIRE-002 SHOULD A request without a message ends with a status.
// - TRN-WIRE-003 MUST Two messages on a unary call have one effect at most.
// - TRN-WIRE-004 MUST A truncated message has no effect, whatever the status.
// - TRN-WIRE-005 MUST A garbage message has no effect and is not OK.
// - TRN-WIRE-006 SHOULD An unknown method is UNIMPLEMENTED.
// - TRN-WIRE-007 MUST Split frames and joined messages are read right.
// - TRN-WIRE-008 SHOULD A gzip request is read or refused UNIMPLEMENTED.
// - TRN-WIRE-009 SHOULD A gzip bomb over the limit is refused.
// - TRN-WIRE-010 MUST A passed grpc-timeout leaves the session consistent.
// - TRN-WIRE-011 SHOULD Status messages with %, non-ASCII, newline arrive whole.
// - TRN-WIRE-012 MUST Metadata ending in `-bin` is accepted with and without padding.
// - TRN-WIRE-013 SHOULD Metadata up to 6 KiB is accepted.
// - TRN-WIRE-014 SHOULD Rapid reset leaves the server serving (GOAWAY allowed).
// - TRN-WIRE-015 SHOULD A proxy's graceful GOAWAY loses nothing.
// - TRN-WIRE-016 SHOULD Pings each 20 s do not close the connection.
// - TRN-WIRE-017 SHOULD A quiet call of 90 s survives an idle-cutting proxy.
// - TRN-WIRE-018 SHOULD connect-node and grpc-js see the same answers.

// @generated by protoc-gen-es v2.13.0 with parameter "target=ts,import_extension=js"
// @generated from file touchstone/v1/failure.proto (package touchstone.v1, syntax proto3)
/* eslint-disable */

import type { GenEnum, GenFile, GenMessage } from "@bufbuild/protobuf/codegenv2";
import { enumDesc, fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";
import { file_buf_validate_validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { file_google_protobuf_duration } from "@bufbuild/protobuf/wkt";
import type { Message } from "@bufbuild/protobuf";

/**
 * Describes the file touchstone/v1/failure.proto.
 */
export const file_touchstone_v1_failure: GenFile = /*@__PURE__*/
  fileDesc("Cht0b3VjaHN0b25lL3YxL2ZhaWx1cmUucHJvdG8SDXRvdWNoc3RvbmUudjEiigQKB0ZhaWx1cmUSKAoEa2luZBgBIAEoDjIaLnRvdWNoc3RvbmUudjEuRmFpbHVyZUtpbmQSVAoLY3VzdG9tX2tpbmQYAiABKAlCP7pIPNgBAXI3MjVeW2EtejAtOV1bYS16MC05Xy4tXXswLDM5fTpbYS16MC05XVthLXowLTlfLi1dezAsNTl9JBIjCgVzdGFnZRgDIAEoDjIULnRvdWNoc3RvbmUudjEuU3RhZ2USEAoIYWdlbnRfaWQYBCABKAkSIwoFcmV0cnkYBSABKA4yFC50b3VjaHN0b25lLnYxLlJldHJ5Ei4KC3JldHJ5X2FmdGVyGAYgASgLMhkuZ29vZ2xlLnByb3RvYnVmLkR1cmF0aW9uEhgKBnJlYXNvbhgHIAEoCUIIukgFcgMo0A8SHwoMZGV0YWlsc19qc29uGAggASgJQgm6SAZyBCiAgAESLgoGY2F1c2VzGAkgAygLMhQudG91Y2hzdG9uZS52MS5DYXVzZUIIukgFkgECEAg6hwG6SIMBGoABChNmYWlsdXJlLmN1c3RvbV9raW5kEjtjdXN0b21fa2luZCBpcyBzZXQgZXhhY3RseSB3aGVuIGtpbmQgaXMgRkFJTFVSRV9LSU5EX0NVU1RPTRosKHRoaXMua2luZCA9PSAxKSA9PSAodGhpcy5jdXN0b21fa2luZCAhPSAnJykiygEKBUNhdXNlEikKCGJvdW5kYXJ5GAEgASgOMhcudG91Y2hzdG9uZS52MS5Cb3VuZGFyeRIoCgRraW5kGAIgASgOMhoudG91Y2hzdG9uZS52MS5GYWlsdXJlS2luZBILCgNycGMYAyABKAkSEQoEY29kZRgEIAEoBUgAiAEBEikKCGRlbGl2ZXJ5GAUgASgOMhcudG91Y2hzdG9uZS52MS5EZWxpdmVyeRIYCgZyZWFzb24YBiABKAlCCLpIBXIDKKwCQgcKBV9jb2RlKp4GCgtGYWlsdXJlS2luZBIcChhGQUlMVVJFX0tJTkRfVU5TUEVDSUZJRUQQABIXChNGQUlMVVJFX0tJTkRfQ1VTVE9NEAESGQoVRkFJTFVSRV9LSU5EX0lOVEVSTkFMEAISGAoURkFJTFVSRV9LSU5EX1RJTUVPVVQQAxIaChZGQUlMVVJFX0tJTkRfQ0FOQ0VMTEVEEAQSHAoYRkFJTFVSRV9LSU5EX1VOQVZBSUxBQkxFEAUSHQoZRkFJTFVSRV9LSU5EX1NFU1NJT05fTE9TVBAGEiMKH0ZBSUxVUkVfS0lORF9QUk9UT0NPTF9WSU9MQVRJT04QBxIcChhGQUlMVVJFX0tJTkRfU0VFRF9GQUlMRUQQFBIcChhGQUlMVVJFX0tJTkRfU1RFUF9GQUlMRUQQFRIhCh1GQUlMVVJFX0tJTkRfVE9PTF9VTlJFQUNIQUJMRRAWEiAKHEZBSUxVUkVfS0lORF9IQVJORVNTX0NSQVNIRUQQKBIfChtGQUlMVVJFX0tJTkRfTk9fTU9ERUxfQ0FMTFMQKRIiCh5GQUlMVVJFX0tJTkRfTU9ERUxfVU5BVkFJTEFCTEUQKhIlCiFGQUlMVVJFX0tJTkRfTU9ERUxfSU5WQUxJRF9PVVRQVVQQKxIfChtGQUlMVVJFX0tJTkRfSU5WQUxJRF9SRVdBUkQQPBIgChxGQUlMVVJFX0tJTkRfVkVSSUZJRVJfRkFJTEVEED0SIgoeRkFJTFVSRV9LSU5EX0pVREdFX1VOUkVBQ0hBQkxFED4SIwofRkFJTFVSRV9LSU5EX0pVREdFX1JBVEVfTElNSVRFRBA/EiUKIUZBSUxVUkVfS0lORF9KVURHRV9JTlZBTElEX09VVFBVVBBAEh8KG0ZBSUxVUkVfS0lORF9DQVBUVVJFX0ZBSUxFRBBBEiUKIUZBSUxVUkVfS0lORF9TQU5EQk9YX1NUQVJUX0ZBSUxFRBBQEh0KGUZBSUxVUkVfS0lORF9TQU5EQk9YX0xPU1QQURIeChpGQUlMVVJFX0tJTkRfU0FOREJPWF9MSU1JVBBSKpwCCgVTdGFnZRIVChFTVEFHRV9VTlNQRUNJRklFRBAAEg8KC1NUQUdFX0NIRUNLEAESEwoPU1RBR0VfQURNSVNTSU9OEAISDgoKU1RBR0VfU0VFRBADEhYKElNUQUdFX09QRU5fR0FURVdBWRAEEg4KClNUQUdFX09QRU4QBRISCg5TVEFHRV9BQ1RJVkFURRAGEg4KClNUQUdFX1NURVAQBxIRCg1TVEFHRV9BRFZBTkNFEAgSFQoRU1RBR0VfQ0xPU0VfQUdFTlQQCRIXChNTVEFHRV9DTE9TRV9HQVRFV0FZEAoSEAoMU1RBR0VfVkVSSUZZEAsSEgoOU1RBR0VfQ0xFQU5fVVAQDBIRCg1TVEFHRV9TQU5EQk9YEA0qXAoFUmV0cnkSFQoRUkVUUllfVU5TUEVDSUZJRUQQABIPCgtSRVRSWV9ORVZFUhABEhQKEFJFVFJZX05FWFRfSU5ERVgQAhIVChFSRVRSWV9ORVdfQVRURU1QVBADKsABCghCb3VuZGFyeRIYChRCT1VOREFSWV9VTlNQRUNJRklFRBAAEhIKDkJPVU5EQVJZX01PREVMEAESFAoQQk9VTkRBUllfSEFSTkVTUxACEhIKDkJPVU5EQVJZX0FHRU5UEAMSGAoUQk9VTkRBUllfRU5WSVJPTk1FTlQQBBIUChBCT1VOREFSWV9TQU5EQk9YEAUSFAoQQk9VTkRBUllfRVBJU09ERRAGEhYKEkJPVU5EQVJZX0NPTExFQ1RPUhAHKnQKCERlbGl2ZXJ5EhgKFERFTElWRVJZX1VOU1BFQ0lGSUVEEAASFQoRREVMSVZFUllfTk9UX1NFTlQQARIfChtERUxJVkVSWV9QT1NTSUJMWV9ERUxJVkVSRUQQAhIWChJERUxJVkVSWV9ERUxJVkVSRUQQAyqUCQoLRXJyb3JSZWFzb24SHAoYRVJST1JfUkVBU09OX1VOU1BFQ0lGSUVEEAASHgoaRVJST1JfUkVBU09OX0lOVkFMSURfRklFTEQQARIdChlFUlJPUl9SRUFTT05fVU5LTk9XTl9FTlVNEAISHQoZRVJST1JfUkVBU09OX1VOS05PV05fVE9PTBADEicKI0VSUk9SX1JFQVNPTl9WRVJJRklFUl9TVEFURV9JTlZBTElEEAQSIAocRVJST1JfUkVBU09OX1NFU1NJT05fVU5LTk9XThAKEh0KGUVSUk9SX1JFQVNPTl9UQVNLX1VOS05PV04QCxIdChlFUlJPUl9SRUFTT05fTkFNRV9VTktOT1dOEAwSIwofRVJST1JfUkVBU09OX09QRVJBVElPTl9DT05GTElDVBAUEh0KGUVSUk9SX1JFQVNPTl9PVVRfT0ZfT1JERVIQHhIdChlFUlJPUl9SRUFTT05fU0VTU0lPTl9CVVNZEB8SHwobRVJST1JfUkVBU09OX1NFU1NJT05fQ0xPU0VEECASIAocRVJST1JfUkVBU09OX1NFU1NJT05fRVhQSVJFRBAhEh8KG0VSUk9SX1JFQVNPTl9TRVNTSU9OX0ZBSUxFRBAiEiEKHUVSUk9SX1JFQVNPTl9FUElTT0RFX01JU01BVENIECMSHgoaRVJST1JfUkVBU09OX0VQSVNPREVfRU5ERUQQJBIcChhFUlJPUl9SRUFTT05fT1VUX09GX1RVUk4QJRIiCh5FUlJPUl9SRUFTT05fV1JPTkdfRU5WSVJPTk1FTlQQJhIoCiRFUlJPUl9SRUFTT05fVU5TQVRJU0ZJRURfUkVRVUlSRU1FTlQQJxIeChpFUlJPUl9SRUFTT05fVU5FTkZPUkNFQUJMRRAoEiYKIkVSUk9SX1JFQVNPTl9QUkVGSVhfTk9UX0VYVEVOU0lCTEUQKRIfChtFUlJPUl9SRUFTT05fU0FOREJPWF9QQVVTRUQQKhIbChdFUlJPUl9SRUFTT05fUE9SVF9UQUtFThArEh4KGkVSUk9SX1JFQVNPTl9QQVRIX0NPTkZMSUNUECwSGwoXRVJST1JfUkVBU09OX1BFUk1JU1NJT04QMhIcChhFUlJPUl9SRUFTT05fQ1JFREVOVElBTFMQMxIZChVFUlJPUl9SRUFTT05fQ0FQQUNJVFkQPBIiCh5FUlJPUl9SRUFTT05fQURNSVNTSU9OX1RJTUVPVVQQPRIdChlFUlJPUl9SRUFTT05fUkFURV9MSU1JVEVEED4SIgoeRVJST1JfUkVBU09OX01FU1NBR0VfVE9PX0xBUkdFED8SIgoeRVJST1JfUkVBU09OX0NPTlRFTlRfVE9PX0xBUkdFEEASHwobRVJST1JfUkVBU09OX0FOU1dFUl9FWFBJUkVEEEYSGQoVRVJST1JfUkVBU09OX0RSQUlOSU5HEFASJAogRVJST1JfUkVBU09OX0ZFQVRVUkVfVU5TVVBQT1JURUQQWhIhCh1FUlJPUl9SRUFTT05fT1BFUkFUSU9OX0ZBSUxFRBBkQlUKEWRldi50b3VjaHN0b25lLnYxQgxGYWlsdXJlUHJvdG9QAVowdG91Y2hzdG9uZS5kZXYvZ2VuL2dvL3RvdWNoc3RvbmUvdjE7dG91Y2hzdG9uZXYxYgZwcm90bzM", [file_buf_validate_validate, file_google_protobuf_duration]);

/**
 * An operation that started and failed.
 *
 * @generated from message touchstone.v1.Failure
 */
export type Failure = Message<"touchstone.v1.Failure"> & {
  /**
   * What happened. A reader that does not know the number keeps it and never reads it as success.
   *
   * @generated from field: touchstone.v1.FailureKind kind = 1;
   */
  kind: FailureKind;

  /**
   * `vendor:name` with kind CUSTOM, else empty.
   *
   * @generated from field: string custom_kind = 2;
   */
  customKind: string;

  /**
   * Where in an episode it happened.
   *
   * @generated from field: touchstone.v1.Stage stage = 3;
   */
  stage: Stage;

  /**
   * Whose failure it is, where it is one agent's; empty otherwise.
   *
   * @generated from field: string agent_id = 4;
   */
  agentId: string;

  /**
   * What may help. The only field that a retry policy reads.
   *
   * @generated from field: touchstone.v1.Retry retry = 5;
   */
  retry: Retry;

  /**
   * How long to wait first. Absent: no advice.
   *
   * @generated from field: google.protobuf.Duration retry_after = 6;
   */
  retryAfter?: Duration | undefined;

  /**
   * One sentence for people, at most 2,000 bytes.
   *
   * @generated from field: string reason = 7;
   */
  reason: string;

  /**
   * The server's own details: JSON object text, or empty.
   *
   * @generated from field: string details_json = 8;
   */
  detailsJson: string;

  /**
   * How it came here, nearest boundary first.
   *
   * @generated from field: repeated touchstone.v1.Cause causes = 9;
   */
  causes: Cause[];
};

/**
 * Describes the message touchstone.v1.Failure.
 * Use `create(FailureSchema)` to create a new message.
 */
export const FailureSchema: GenMessage<Failure> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_failure, 0);

/**
 * What one boundary saw of a failure.
 *
 * @generated from message touchstone.v1.Cause
 */
export type Cause = Message<"touchstone.v1.Cause"> & {
  /**
   * Who saw it.
   *
   * @generated from field: touchstone.v1.Boundary boundary = 1;
   */
  boundary: Boundary;

  /**
   * What it was there.
   *
   * @generated from field: touchstone.v1.FailureKind kind = 2;
   */
  kind: FailureKind;

  /**
   * Full rpc name, `touchstone.v1.ModelService/Generate`, if it was a call; else empty.
   *
   * @generated from field: string rpc = 3;
   */
  rpc: string;

  /**
   * google.rpc.Code of that call. Absent: no status came.
   *
   * @generated from field: optional int32 code = 4;
   */
  code?: number | undefined;

  /**
   * Whether the call had reached its peer. UNSPECIFIED where it was no call.
   *
   * @generated from field: touchstone.v1.Delivery delivery = 5;
   */
  delivery: Delivery;

  /**
   * One sentence for people.
   *
   * @generated from field: string reason = 6;
   */
  reason: string;
};

/**
 * Describes the message touchstone.v1.Cause.
 * Use `create(CauseSchema)` to create a new message.
 */
export const CauseSchema: GenMessage<Cause> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_failure, 1);

/**
 * What happened.
 *
 * @generated from enum touchstone.v1.FailureKind
 */
export enum FailureKind {
  /**
   * Never sent.
   *
   * @generated from enum value: FAILURE_KIND_UNSPECIFIED = 0;
   */
  UNSPECIFIED = 0,

  /**
   * See custom_kind.
   *
   * @generated from enum value: FAILURE_KIND_CUSTOM = 1;
   */
  CUSTOM = 1,

  /**
   * An error that nobody foresaw.
   *
   * @generated from enum value: FAILURE_KIND_INTERNAL = 2;
   */
  INTERNAL = 2,

  /**
   * The operation's own timeout, or the episode's, has passed.
   *
   * @generated from enum value: FAILURE_KIND_TIMEOUT = 3;
   */
  TIMEOUT = 3,

  /**
   * Ended by Close, Stop, expiry, drain or Revoke.
   *
   * @generated from enum value: FAILURE_KIND_CANCELLED = 4;
   */
  CANCELLED = 4,

  /**
   * A peer refused beyond the bound for repeats, or could not be reached.
   *
   * @generated from enum value: FAILURE_KIND_UNAVAILABLE = 5;
   */
  UNAVAILABLE = 5,

  /**
   * A peer no longer knows a session that was opened there.
   *
   * @generated from enum value: FAILURE_KIND_SESSION_LOST = 6;
   */
  SESSION_LOST = 6,

  /**
   * A peer broke the contract.
   *
   * @generated from enum value: FAILURE_KIND_PROTOCOL_VIOLATION = 7;
   */
  PROTOCOL_VIOLATION = 7,

  /**
   * The world could not be made.
   *
   * @generated from enum value: FAILURE_KIND_SEED_FAILED = 20;
   */
  SEED_FAILED = 20,

  /**
   * The world broke while it took a step.
   *
   * @generated from enum value: FAILURE_KIND_STEP_FAILED = 21;
   */
  STEP_FAILED = 21,

  /**
   * A required tool access cannot be used.
   *
   * @generated from enum value: FAILURE_KIND_TOOL_UNREACHABLE = 22;
   */
  TOOL_UNREACHABLE = 22,

  /**
   * The harness crashed.
   *
   * @generated from enum value: FAILURE_KIND_HARNESS_CRASHED = 40;
   */
  HARNESS_CRASHED = 40,

  /**
   * The agent needed a model and never called it.
   *
   * @generated from enum value: FAILURE_KIND_NO_MODEL_CALLS = 41;
   */
  NO_MODEL_CALLS = 41,

  /**
   * The model could not be reached or kept failing.
   *
   * @generated from enum value: FAILURE_KIND_MODEL_UNAVAILABLE = 42;
   */
  MODEL_UNAVAILABLE = 42,

  /**
   * The model's answer could not be read.
   *
   * @generated from enum value: FAILURE_KIND_MODEL_INVALID_OUTPUT = 43;
   */
  MODEL_INVALID_OUTPUT = 43,

  /**
   * A reward was not finite, or outside the declared range.
   *
   * @generated from enum value: FAILURE_KIND_INVALID_REWARD = 60;
   */
  INVALID_REWARD = 60,

  /**
   * The verifier could not run or produced nothing readable.
   *
   * @generated from enum value: FAILURE_KIND_VERIFIER_FAILED = 61;
   */
  VERIFIER_FAILED = 61,

  /**
   * A judge could not be reached.
   *
   * @generated from enum value: FAILURE_KIND_JUDGE_UNREACHABLE = 62;
   */
  JUDGE_UNREACHABLE = 62,

  /**
   * A judge turned the call away for now.
   *
   * @generated from enum value: FAILURE_KIND_JUDGE_RATE_LIMITED = 63;
   */
  JUDGE_RATE_LIMITED = 63,

  /**
   * A judge's answer could not be read.
   *
   * @generated from enum value: FAILURE_KIND_JUDGE_INVALID_OUTPUT = 64;
   */
  JUDGE_INVALID_OUTPUT = 64,

  /**
   * An artifact could not be collected.
   *
   * @generated from enum value: FAILURE_KIND_CAPTURE_FAILED = 65;
   */
  CAPTURE_FAILED = 65,

  /**
   * A box could not be started.
   *
   * @generated from enum value: FAILURE_KIND_SANDBOX_START_FAILED = 80;
   */
  SANDBOX_START_FAILED = 80,

  /**
   * A box was lost.
   *
   * @generated from enum value: FAILURE_KIND_SANDBOX_LOST = 81;
   */
  SANDBOX_LOST = 81,

  /**
   * A limit of a box was hit by set-up or by the grader.
   *
   * @generated from enum value: FAILURE_KIND_SANDBOX_LIMIT = 82;
   */
  SANDBOX_LIMIT = 82,
}

/**
 * Describes the enum touchstone.v1.FailureKind.
 */
export const FailureKindSchema: GenEnum<FailureKind> = /*@__PURE__*/
  enumDesc(file_touchstone_v1_failure, 0);

/**
 * Where in an episode something happened.
 *
 * @generated from enum touchstone.v1.Stage
 */
export enum Stage {
  /**
   * Never sent.
   *
   * @generated from enum value: STAGE_UNSPECIFIED = 0;
   */
  UNSPECIFIED = 0,

  /**
   * Describe of all peers and the check of pairs.
   *
   * @generated from enum value: STAGE_CHECK = 1;
   */
  CHECK = 1,

  /**
   * Waiting for a slot.
   *
   * @generated from enum value: STAGE_ADMISSION = 2;
   */
  ADMISSION = 2,

  /**
   * Seed or Fork.
   *
   * @generated from enum value: STAGE_SEED = 3;
   */
  SEED = 3,

  /**
   * OpenGateway.
   *
   * @generated from enum value: STAGE_OPEN_GATEWAY = 4;
   */
  OPEN_GATEWAY = 4,

  /**
   * Open.
   *
   * @generated from enum value: STAGE_OPEN = 5;
   */
  OPEN = 5,

  /**
   * Activate.
   *
   * @generated from enum value: STAGE_ACTIVATE = 6;
   */
  ACTIVATE = 6,

  /**
   * Step or StepStream.
   *
   * @generated from enum value: STAGE_STEP = 7;
   */
  STEP = 7,

  /**
   * Advance.
   *
   * @generated from enum value: STAGE_ADVANCE = 8;
   */
  ADVANCE = 8,

  /**
   * Close of an agent session.
   *
   * @generated from enum value: STAGE_CLOSE_AGENT = 9;
   */
  CLOSE_AGENT = 9,

  /**
   * ReadCapture and CloseGateway.
   *
   * @generated from enum value: STAGE_CLOSE_GATEWAY = 10;
   */
  CLOSE_GATEWAY = 10,

  /**
   * Verify.
   *
   * @generated from enum value: STAGE_VERIFY = 11;
   */
  VERIFY = 11,

  /**
   * Close of the environment session, and whatever was left.
   *
   * @generated from enum value: STAGE_CLEAN_UP = 12;
   */
  CLEAN_UP = 12,

  /**
   * A sandbox's own operations: CreateSandbox, Exec, CreateSnapshot.
   *
   * @generated from enum value: STAGE_SANDBOX = 13;
   */
  SANDBOX = 13,
}

/**
 * Describes the enum touchstone.v1.Stage.
 */
export const StageSchema: GenEnum<Stage> = /*@__PURE__*/
  enumDesc(file_touchstone_v1_failure, 1);

/**
 * What may help after a failure. It is always one of these three.
 *
 * @generated from enum touchstone.v1.Retry
 */
export enum Retry {
  /**
   * Never sent.
   *
   * @generated from enum value: RETRY_UNSPECIFIED = 0;
   */
  UNSPECIFIED = 0,

  /**
   * Nothing: the same would happen again.
   *
   * @generated from enum value: RETRY_NEVER = 1;
   */
  NEVER = 1,

  /**
   * The session is as it was and goes on: the same operation under the next index.
   *
   * @generated from enum value: RETRY_NEXT_INDEX = 2;
   */
  NEXT_INDEX = 2,

  /**
   * Another attempt of the episode.
   *
   * @generated from enum value: RETRY_NEW_ATTEMPT = 3;
   */
  NEW_ATTEMPT = 3,
}

/**
 * Describes the enum touchstone.v1.Retry.
 */
export const RetrySchema: GenEnum<Retry> = /*@__PURE__*/
  enumDesc(file_touchstone_v1_failure, 2);

/**
 * The part of a run that saw a failure.
 *
 * @generated from enum touchstone.v1.Boundary
 */
export enum Boundary {
  /**
   * Never sent.
   *
   * @generated from enum value: BOUNDARY_UNSPECIFIED = 0;
   */
  UNSPECIFIED = 0,

  /**
   * A model or its gateway.
   *
   * @generated from enum value: BOUNDARY_MODEL = 1;
   */
  MODEL = 1,

  /**
   * A harness, inside an agent server.
   *
   * @generated from enum value: BOUNDARY_HARNESS = 2;
   */
  HARNESS = 2,

  /**
   * An agent server.
   *
   * @generated from enum value: BOUNDARY_AGENT = 3;
   */
  AGENT = 3,

  /**
   * An environment server.
   *
   * @generated from enum value: BOUNDARY_ENVIRONMENT = 4;
   */
  ENVIRONMENT = 4,

  /**
   * A sandbox server.
   *
   * @generated from enum value: BOUNDARY_SANDBOX = 5;
   */
  SANDBOX = 5,

  /**
   * An episode server.
   *
   * @generated from enum value: BOUNDARY_EPISODE = 6;
   */
  EPISODE = 6,

  /**
   * What collects rollouts.
   *
   * @generated from enum value: BOUNDARY_COLLECTOR = 7;
   */
  COLLECTOR = 7,
}

/**
 * Describes the enum touchstone.v1.Boundary.
 */
export const BoundarySchema: GenEnum<Boundary> = /*@__PURE__*/
  enumDesc(file_touchstone_v1_failure, 3);

/**
 * Whether a call reached its peer.
 *
 * @generated from enum touchstone.v1.Delivery
 */
export enum Delivery {
  /**
   * It was no call.
   *
   * @generated from enum value: DELIVERY_UNSPECIFIED = 0;
   */
  UNSPECIFIED = 0,

  /**
   * It was not sent: a repeat under any name is safe.
   *
   * @generated from enum value: DELIVERY_NOT_SENT = 1;
   */
  NOT_SENT = 1,

  /**
   * Nobody knows: only a repeat under the same name is safe.
   *
   * @generated from enum value: DELIVERY_POSSIBLY_DELIVERED = 2;
   */
  POSSIBLY_DELIVERED = 2,

  /**
   * The peer answered.
   *
   * @generated from enum value: DELIVERY_DELIVERED = 3;
   */
  DELIVERED = 3,
}

/**
 * Describes the enum touchstone.v1.Delivery.
 */
export const DeliverySchema: GenEnum<Delivery> = /*@__PURE__*/
  enumDesc(file_touchstone_v1_failure, 4);

/**
 * ErrorInfo.reason: the value's name without ERROR_REASON_. Each value belongs to one code, told in
 * its comment, with the metadata keys that it carries.
 *
 * @generated from enum touchstone.v1.ErrorReason
 */
export enum ErrorReason {
  /**
   * Never sent.
   *
   * @generated from enum value: ERROR_REASON_UNSPECIFIED = 0;
   */
  UNSPECIFIED = 0,

  /**
   * INVALID_ARGUMENT (`field`). A field is missing, malformed or out of bounds.
   *
   * @generated from enum value: ERROR_REASON_INVALID_FIELD = 1;
   */
  INVALID_FIELD = 1,

  /**
   * INVALID_ARGUMENT (`field`). An enum number or oneof arm that the request would act on is
   * unknown.
   *
   * @generated from enum value: ERROR_REASON_UNKNOWN_ENUM = 2;
   */
  UNKNOWN_ENUM = 2,

  /**
   * INVALID_ARGUMENT. No such tool for this agent now.
   *
   * @generated from enum value: ERROR_REASON_UNKNOWN_TOOL = 3;
   */
  UNKNOWN_TOOL = 3,

  /**
   * INVALID_ARGUMENT. A verifier_state that is altered or of another session or revision.
   *
   * @generated from enum value: ERROR_REASON_VERIFIER_STATE_INVALID = 4;
   */
  VERIFIER_STATE_INVALID = 4,

  /**
   * NOT_FOUND. The session, sandbox, gateway or episode was never known to this instance.
   *
   * @generated from enum value: ERROR_REASON_SESSION_UNKNOWN = 10;
   */
  SESSION_UNKNOWN = 10,

  /**
   * NOT_FOUND. No such task.
   *
   * @generated from enum value: ERROR_REASON_TASK_UNKNOWN = 11;
   */
  TASK_UNKNOWN = 11,

  /**
   * NOT_FOUND. No such exec, snapshot, blob, split or path; or a name that the server is not
   * configured with (binding, driver, sandbox provider, mount, template, image, secret, forward),
   * its path in BadRequest.
   *
   * @generated from enum value: ERROR_REASON_NAME_UNKNOWN = 12;
   */
  NAME_UNKNOWN = 12,

  /**
   * ALREADY_EXISTS. The name was used with other content.
   *
   * @generated from enum value: ERROR_REASON_OPERATION_CONFLICT = 20;
   */
  OPERATION_CONFLICT = 20,

  /**
   * FAILED_PRECONDITION (`expected_index`). Not the next index.
   *
   * @generated from enum value: ERROR_REASON_OUT_OF_ORDER = 30;
   */
  OUT_OF_ORDER = 30,

  /**
   * FAILED_PRECONDITION, RetryInfo. Another operation of the session runs.
   *
   * @generated from enum value: ERROR_REASON_SESSION_BUSY = 31;
   */
  SESSION_BUSY = 31,

  /**
   * FAILED_PRECONDITION. The session was closed.
   *
   * @generated from enum value: ERROR_REASON_SESSION_CLOSED = 32;
   */
  SESSION_CLOSED = 32,

  /**
   * FAILED_PRECONDITION. The session ended by lease, lifetime or drain.
   *
   * @generated from enum value: ERROR_REASON_SESSION_EXPIRED = 33;
   */
  SESSION_EXPIRED = 33,

  /**
   * FAILED_PRECONDITION. An earlier operation failed and the session cannot go on.
   *
   * @generated from enum value: ERROR_REASON_SESSION_FAILED = 34;
   */
  SESSION_FAILED = 34,

  /**
   * FAILED_PRECONDITION. The session belongs to another episode.
   *
   * @generated from enum value: ERROR_REASON_EPISODE_MISMATCH = 35;
   */
  EPISODE_MISMATCH = 35,

  /**
   * FAILED_PRECONDITION. The episode is over: no steps, stages or verifications any more.
   *
   * @generated from enum value: ERROR_REASON_EPISODE_ENDED = 36;
   */
  EPISODE_ENDED = 36,

  /**
   * FAILED_PRECONDITION. The agent is not among next_agents.
   *
   * @generated from enum value: ERROR_REASON_OUT_OF_TURN = 37;
   */
  OUT_OF_TURN = 37,

  /**
   * FAILED_PRECONDITION. The task belongs to another environment.
   *
   * @generated from enum value: ERROR_REASON_WRONG_ENVIRONMENT = 38;
   */
  WRONG_ENVIRONMENT = 38,

  /**
   * FAILED_PRECONDITION. Each unmet requirement is one violation in BadRequest.
   *
   * @generated from enum value: ERROR_REASON_UNSATISFIED_REQUIREMENT = 39;
   */
  UNSATISFIED_REQUIREMENT = 39,

  /**
   * FAILED_PRECONDITION (`field`). The sandbox cannot enforce what the field asks.
   *
   * @generated from enum value: ERROR_REASON_UNENFORCEABLE = 40;
   */
  UNENFORCEABLE = 40,

  /**
   * FAILED_PRECONDITION. The prompt cannot be rendered as an extension of the prefix.
   *
   * @generated from enum value: ERROR_REASON_PREFIX_NOT_EXTENSIBLE = 41;
   */
  PREFIX_NOT_EXTENSIBLE = 41,

  /**
   * FAILED_PRECONDITION. The sandbox is paused.
   *
   * @generated from enum value: ERROR_REASON_SANDBOX_PAUSED = 42;
   */
  SANDBOX_PAUSED = 42,

  /**
   * FAILED_PRECONDITION. The port inside the sandbox is taken.
   *
   * @generated from enum value: ERROR_REASON_PORT_TAKEN = 43;
   */
  PORT_TAKEN = 43,

  /**
   * FAILED_PRECONDITION. The path is of another kind than asked: a directory, no directory, not
   * empty, there already.
   *
   * @generated from enum value: ERROR_REASON_PATH_CONFLICT = 44;
   */
  PATH_CONFLICT = 44,

  /**
   * PERMISSION_DENIED. The principal may not do this, or the box's user may not touch the path.
   *
   * @generated from enum value: ERROR_REASON_PERMISSION = 50;
   */
  PERMISSION = 50,

  /**
   * UNAUTHENTICATED. No credential, or one that is wrong or dead.
   *
   * @generated from enum value: ERROR_REASON_CREDENTIALS = 51;
   */
  CREDENTIALS = 51,

  /**
   * RESOURCE_EXHAUSTED, RetryInfo. Capacity and queue are full.
   *
   * @generated from enum value: ERROR_REASON_CAPACITY = 60;
   */
  CAPACITY = 60,

  /**
   * RESOURCE_EXHAUSTED (`limit`), RetryInfo. The wait in the queue was too long.
   *
   * @generated from enum value: ERROR_REASON_ADMISSION_TIMEOUT = 61;
   */
  ADMISSION_TIMEOUT = 61,

  /**
   * RESOURCE_EXHAUSTED, RetryInfo. Too many calls.
   *
   * @generated from enum value: ERROR_REASON_RATE_LIMITED = 62;
   */
  RATE_LIMITED = 62,

  /**
   * RESOURCE_EXHAUSTED (`limit`, `actual` in bytes). The request, or the answer that it would need,
   * is larger than allowed.
   *
   * @generated from enum value: ERROR_REASON_MESSAGE_TOO_LARGE = 63;
   */
  MESSAGE_TOO_LARGE = 63,

  /**
   * RESOURCE_EXHAUSTED (`limit`, `actual`). A file, archive or directory is above the cap given.
   *
   * @generated from enum value: ERROR_REASON_CONTENT_TOO_LARGE = 64;
   */
  CONTENT_TOO_LARGE = 64,

  /**
   * OUT_OF_RANGE. The operation was done and its answer is no longer kept.
   *
   * @generated from enum value: ERROR_REASON_ANSWER_EXPIRED = 70;
   */
  ANSWER_EXPIRED = 70,

  /**
   * UNAVAILABLE, RetryInfo. The server takes nothing new; another replica may.
   *
   * @generated from enum value: ERROR_REASON_DRAINING = 80;
   */
  DRAINING = 80,

  /**
   * UNIMPLEMENTED (`feature`). The rpc is served, this use of it needs a feature that is
   * undeclared.
   *
   * @generated from enum value: ERROR_REASON_FEATURE_UNSUPPORTED = 90;
   */
  FEATURE_UNSUPPORTED = 90,

  /**
   * ABORTED or INTERNAL (`answer_id`). The only reason that is no refusal: a recorded failure, with
   * the Failure in the details.
   *
   * @generated from enum value: ERROR_REASON_OPERATION_FAILED = 100;
   */
  OPERATION_FAILED = 100,
}

/**
 * Describes the enum touchstone.v1.ErrorReason.
 */
export const ErrorReasonSchema: GenEnum<ErrorReason> = /*@__PURE__*/
  enumDesc(file_touchstone_v1_failure, 5);

