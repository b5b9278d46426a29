import { clone, type DescMessage, type Message } from "@bufbuild/protobuf";
import { type Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, type ErrorInfo, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { type Failure, FailureSchema } from "../../gen/index.js";
import { inAnswers, inErrors } from "./calls.js";
import type { Build } from "./mutant.js";
import { together } from "./seams.js";

type Details = ConstructorParameters<typeof ConnectError>[3];

/** The same error with another code, or other details. */
export function errorLike(
  error: ConnectError,
  {
    code = error.code,
    message = error.rawMessage,
    details = error.details as Details,
  }: {
    readonly code?: Code;
    readonly message?: string;
    readonly details?: Details;
  },
): ConnectError {
  return new ConnectError(message, code, error.metadata, details);
}

/** The reason of a refusal of ours; empty: it is none. */
export function reasonOf(error: unknown): string {
  return error instanceof ConnectError && "reasonName" in error ? String(error.reasonName) : "";
}

interface Detail {
  readonly desc: DescMessage;
  readonly value: Message;
}

const detailsOf = (error: ConnectError): Detail[] => error.details as unknown as Detail[];

/** The same error whose details of one type are changed, or left out where `change` gives nothing. */
export function withDetails<M extends Message>(
  error: ConnectError,
  schema: DescMessage,
  change: (value: M) => M | undefined,
): ConnectError {
  const details = detailsOf(error).flatMap(({ desc, value }) => {
    if (desc.typeName !== schema.typeName) return [{ desc, value }];
    const changed = change(clone(desc, value as never) as unknown as M);
    return changed === undefined ? [] : [{ desc, value: changed }];
  });
  return errorLike(error, { details: details as never });
}

/** Changes the ErrorInfo of every error. */
export function inErrorInfo(change: (info: ErrorInfo) => unknown): Build {
  return inErrors((error) =>
    withDetails<ErrorInfo>(error, ErrorInfoSchema, (info) => {
      change(info);
      return info;
    }),
  );
}

/** Leaves details of a type out of every error, where `when` says so. */
export function withoutDetail(
  schema: DescMessage,
  when: (error: ConnectError) => boolean = () => true,
): Build {
  return inErrors((error) => (when(error) ? withDetails(error, schema, () => undefined) : undefined));
}

/** Names no field. */
export const namesNoField = withoutDetail(BadRequestSchema);

/** The recorded failure that an error carries. */
export function failureOf(error: unknown): Failure | undefined {
  return error instanceof ConnectError && "failure" in error ? (error.failure as Failure) : undefined;
}

/** Changes every recorded failure, as a status or in an answer. */
export function inFailures(change: (failure: Failure) => unknown): Build {
  return together(
    inErrors((error) =>
      failureOf(error) === undefined
        ? undefined
        : withDetails<Failure>(error, FailureSchema, (failure) => {
            change(failure);
            return failure;
          }),
    ),
    inAnswers("verify", ({ event }) => {
      if (event.case === "result" && event.value.outcome.case === "failure")
        change(event.value.outcome.value);
    }),
  );
}
