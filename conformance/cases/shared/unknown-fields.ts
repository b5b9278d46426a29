import { clone, create, type Message, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Trial } from "../../check/trial.js";
import type { OperationKind } from "./operation-kind.js";
import type { SharedSubject } from "./shared-subject.js";

/** Number of a field that no message of the contract has. */
const unknownNumber = 999;

/** The request with a field of these bytes that nobody knows. */
export function withUnknown<T extends Trial>(
  { service }: SharedSubject<T>,
  { rpc }: Pick<OperationKind<T>, "rpc">,
  { request, bytes }: { readonly request: object; readonly bytes: Uint8Array },
): Message {
  const schema = inputOf(service, rpc);
  const message = clone(schema, create(schema, request as MessageInitShape<typeof schema>));
  const data = new BinaryWriter().bytes(bytes).finish();
  message.$unknown = [{ no: unknownNumber, wireType: WireType.LengthDelimited, data }];
  return message;
}

/** The request, padded to a size in bytes by a field that nobody knows. */
export function padded<T extends Trial>(
  subject: SharedSubject<T>,
  kind: Pick<OperationKind<T>, "rpc">,
  { request, size }: { readonly request: object; readonly size: number },
): Message {
  const schema = inputOf(subject.service, kind.rpc);
  const of = (bytes: number): Message =>
    withUnknown(subject, kind, { request, bytes: new Uint8Array(bytes) });
  const near = of(size);
  return of(size - (toBinary(schema, near).byteLength - size));
}

function inputOf({ methods, name }: SharedSubject<Trial>["service"], rpc: string) {
  const method = methods.find((one) => one.name === rpc);
  if (method === undefined) throw new Error(`${name} has no rpc ${rpc}`);
  return method.input;
}
