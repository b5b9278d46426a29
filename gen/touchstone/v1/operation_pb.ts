// How operations are named, ordered, survived and streamed.
//
// # R2 Repeats: join, replay or conflict
//
// Each rpc is of one kind, and a name belongs to its kind.
//
//     operation   work that is done once per name
//                 Seed, Fork, Open, CreateSandbox, OpenGateway   the new id
//                 Step                 session_id + step_index, or session_id + action_id
//                 Activate, Advance    session_id + index
//                 Verify               session_id + verification_index, or verification_id
//                 Run                  episode_id
//                 Exec, CreateSnapshot, Grant    sandbox_id + the id given
//     idempotent  Close, DestroySandbox, CloseGateway, Revoke, Stop, KeepAlive, Pause, Resume,
//                 WriteFile, PutBlob and their like: done again, same end state; the answer says
//                 `already_...`
//     call        a second call is a second effect: Generate, StreamGenerate, MovePath, SignalExec,
//                 WriteStdin, Tunnel; a client never re-sends one that may have been delivered
//     read        changes nothing
//
// A repeat of an operation joins it while it runs and replays the recorded answer afterwards. The
// same name with other content is refused ALREADY_EXISTS/OPERATION_CONFLICT. Two requests are equal
// when their known fields are equal after decoding: maps are unordered, JSON text is not parsed;
// unknown fields, metadata and fields marked `delivery_only` do not count; `lease` and `timeout`
// do. Seed and Fork share session ids: a Seed into a forked id is a conflict. A step keeps the name
// that it came with: its number under the other kind of name is a conflict.
//
// A replayed answer equals the first one field for field, `answer_id` included. An operation that
// failed as a status (R4) tells its answer_id in ErrorInfo.metadata["answer_id"].
//
// Metadata of every call:
//
//     touchstone-key          request   one value for all calls of an episode and its forks (R14)
//     touchstone-max-message  request   bytes that the caller accepts in one message (R11)
//     touchstone-instance     header    the instance that answered (R14), on refusals too
//     touchstone-delivery     trailer   started | joined | replayed
//
// - ALL-REPEAT-001 MUST An equal request under a running name joins the operation: the work is
//   done once.
// - ALL-REPEAT-002 MUST After the end a repeat replays the recorded answer, field for field,
//   answer_id included.
// - ALL-REPEAT-003 MUST A recorded failure is replayed; the work is not tried again.
// - ALL-REPEAT-004 MUST The same name with other content is refused OPERATION_CONFLICT.
// - ALL-REPEAT-005 MUST A conflict changes nothing; the first answer still replays.
// - ALL-REPEAT-006 MUST Metadata (credentials, deadline, trace) does not count in equality.
// - ALL-REPEAT-007 MUST Maps are unordered in equality.
// - ALL-REPEAT-008 MUST A refusal is not recorded: its name is free for corrected content.
// - ALL-REPEAT-009 MUST A name belongs to the kind of its rpc.
// - ALL-REPEAT-012 MUST Every answer of an operation carries an answer_id, new for each
//   execution.
// - ALL-REPEAT-013 SHOULD (EAS) Sessions do not wait for each other.
// - ALL-REPEAT-014 MUST Unknown fields do not count in equality.
// - ALL-REPEAT-015 MUST (EASP) Fields marked delivery_only do not count in equality.
// - ALL-REPEAT-016 MUST (EASP) timeout is content.
// - ALL-REPEAT-017 MUST (EAP) JSON text is not parsed in equality.
// - ALL-REPEAT-018 MUST (SMP) A repeated idempotent call succeeds, leaves the same end state and
//   says `already_...`.
// - ALL-REPEAT-019 SHOULD Trailer touchstone-delivery says started, joined or replayed.
// - ALL-REPEAT-020 MUST (A) A client never re-sends a `call` that may have been delivered.
//
// # R3 Order
//
// Steps, activations, stages and verifications of a session are numbered from 0 without gaps, each
// kind apart. A gap is refused FAILED_PRECONDITION/OUT_OF_ORDER with `expected_index`. One
// operation of a session runs at a time; another one waits or is refused SESSION_BUSY with
// RetryInfo; a repeat never is. Close and a final Verify end what runs: an agent session and a
// sandbox cancel it, an environment waits for it at least and SHOULD cancel it. A begun operation
// uses up its index, failed or not; a refused one does not.
//
// - ALL-ORDER-001 MUST (EA) Steps, activations, stages and verifications are numbered from 0,
//   each kind apart.
// - ALL-ORDER-002 MUST (EA) A gap is refused OUT_OF_ORDER and nothing happens.
// - ALL-ORDER-003 MUST (EA) One operation of a session runs at a time; the next waits or is
//   refused, it never overtakes.
// - ALL-ORDER-006 MUST (EA) A begun operation uses up its index, also when it failed.
// - ALL-ORDER-007 MUST (EA) OUT_OF_ORDER tells expected_index.
// - ALL-ORDER-008 MUST (E) [STEP] Operations of different kinds of one session do not overlap
//   either.
// - ALL-ORDER-010 MUST (EA) A refused operation uses up no index.
//
// # R7 A lost connection decides nothing
//
// Operations run apart from the call that started them: a caller that left may join again. The
// call's deadline ends the wait only. What has not begun, because it waits for a place or for its
// turn, is withdrawn when the last call that waits for it has left; nothing was done under its
// name. A request's `timeout` bounds the work: it counts from the
// start, not from the queue, is echoed as effective, and passing it is a recorded failure TIMEOUT.
// Absent: the server's default. What else ends an operation early: Close, Stop, Interrupt,
// max_lifetime, the fence of a final Verify, drain, and what its rpc says of itself (`orphan_grace`
// of Run, `on_detach` of Exec, `kill_processes` of Revoke). Generate, transfers, tunnels and feeds
// are no operations: they end with their caller within 1 s.
//
// - ALL-LOST-001 MUST (EASP) A passed deadline ends the wait, not the operation.
// - ALL-LOST-002 MUST (EASP) A cancelled call leaves the operation running.
// - ALL-LOST-003 MUST (EASP) A vanished connection leaves the operation running.
// - ALL-LOST-004 MUST (EASP) A request reset at once takes effect at most once, after the repeat
//   exactly once.
// - ALL-LOST-005 MUST (EASP) State belongs to the id, not to the connection.
// - ALL-LOST-006 MUST (ESP) A feed ends with its reader within 1 s.
// - ALL-LEASE-009 MUST (EASP) Every operation has an effective timeout, echoed, whatever was
//   asked.
// - ALL-LOST-007 MUST (EASP) A passed timeout is a recorded failure of kind TIMEOUT.
// - ALL-LOST-008 MUST (EASP) timeout counts from the start, not from the queue.
//
// # R17 Streams of operations
//
// Recorded events carry `sequence`, from 1 without gaps; `accepted` is the first of them. Deltas
// and heartbeats carry none and are not kept. Exactly one terminal event ends the stream, complete
// by itself; a stream that ends without one is a lost connection, whatever its status. A repeat of
// the request with `after_sequence` resumes behind that event; absent or 0 means from the start.
// The first message of any stream comes within 1 s, and one every 15 s or less: where no event is
// due, a heartbeat. A call that waits for admission gets heartbeats; `accepted` follows when it is
// admitted, or the stream ends with a refusal. A slow or absent reader stalls nothing and may find
// a gap; only an Exec with `on_detach` KILL is slowed down by its attached reader.
//
// - ALL-ALIVE-001 MUST (EASP) An operation's stream sends its first event, `accepted`, within 1
//   s.
// - ALL-ALIVE-002 MUST (EASP) An operation's stream sends something every 15 s or less.
// - ALL-ALIVE-004 SHOULD [transport] Response headers come before the work is done.
// - ALL-EVT-001 MUST (EASP) Events carry a sequence that rises by one.
// - ALL-EVT-002 MUST (ASP) Deltas and heartbeats carry no sequence and are not replayed.
// - ALL-EVT-003 MUST (EASP) Exactly one terminal event ends a stream.
// - ALL-EVT-004 MUST (EASP) The terminal event is complete by itself.
// - ALL-EVT-005 MUST (EASP) after_sequence resumes exactly after that event.
// - ALL-EVT-006 MUST (EASP) A reader too far behind gets `gap`, then what is left.
// - ALL-EVT-007 MUST (EASP) No slow or absent reader stalls an operation.
// - ALL-EVT-008 MUST (AP) A stream without its terminal event is a lost connection.

// @generated by protoc-gen-es v2.13.0 with parameter "target=ts,import_extension=js"
// @generated from file touchstone/v1/operation.proto (package touchstone.v1, syntax proto3)
/* eslint-disable */

import type { GenFile, GenMessage } from "@bufbuild/protobuf/codegenv2";
import { fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { file_google_protobuf_duration } from "@bufbuild/protobuf/wkt";
import type { Endpoint } from "./access_pb.js";
import { file_touchstone_v1_access } from "./access_pb.js";
import type { Message } from "@bufbuild/protobuf";

/**
 * Describes the file touchstone/v1/operation.proto.
 */
export const file_touchstone_v1_operation: GenFile = /*@__PURE__*/
  fileDesc("Ch10b3VjaHN0b25lL3YxL29wZXJhdGlvbi5wcm90bxINdG91Y2hzdG9uZS52MSJhCghBY2NlcHRlZBIqCgd0aW1lb3V0GAEgASgLMhkuZ29vZ2xlLnByb3RvYnVmLkR1cmF0aW9uEikKCGVuZHBvaW50GAIgASgLMhcudG91Y2hzdG9uZS52MS5FbmRwb2ludCILCglIZWFydGJlYXQiHQoDR2FwEhYKDnVudGlsX3NlcXVlbmNlGAEgASgEQlcKEWRldi50b3VjaHN0b25lLnYxQg5PcGVyYXRpb25Qcm90b1ABWjB0b3VjaHN0b25lLmRldi9nZW4vZ28vdG91Y2hzdG9uZS92MTt0b3VjaHN0b25ldjFiBnByb3RvMw", [file_google_protobuf_duration, file_touchstone_v1_access]);

/**
 * First event of a streamed operation: it is admitted and goes on without its reader.
 *
 * @generated from message touchstone.v1.Accepted
 */
export type Accepted = Message<"touchstone.v1.Accepted"> & {
  /**
   * The timeout that holds for this operation, after the server's bounds.
   *
   * @generated from field: google.protobuf.Duration timeout = 1;
   */
  timeout?: Duration | undefined;

  /**
   * Where further calls about it go (Run). Absent: here.
   *
   * @generated from field: touchstone.v1.Endpoint endpoint = 2;
   */
  endpoint?: Endpoint | undefined;
};

/**
 * Describes the message touchstone.v1.Accepted.
 * Use `create(AcceptedSchema)` to create a new message.
 */
export const AcceptedSchema: GenMessage<Accepted> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_operation, 0);

/**
 * Says only that the operation is alive. It answers nothing, carries no sequence, renews no lease.
 *
 * @generated from message touchstone.v1.Heartbeat
 */
export type Heartbeat = Message<"touchstone.v1.Heartbeat"> & {
};

/**
 * Describes the message touchstone.v1.Heartbeat.
 * Use `create(HeartbeatSchema)` to create a new message.
 */
export const HeartbeatSchema: GenMessage<Heartbeat> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_operation, 1);

/**
 * Events behind the reader's cursor are no longer kept. It carries no sequence; the next event is
 * the oldest one that is left.
 *
 * @generated from message touchstone.v1.Gap
 */
export type Gap = Message<"touchstone.v1.Gap"> & {
  /**
   * The last sequence that is gone.
   *
   * @generated from field: uint64 until_sequence = 1;
   */
  untilSequence: bigint;
};

/**
 * Describes the message touchstone.v1.Gap.
 * Use `create(GapSchema)` to create a new message.
 */
export const GapSchema: GenMessage<Gap> = /*@__PURE__*/
  messageDesc(file_touchstone_v1_operation, 2);

