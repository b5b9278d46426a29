import type { DescMethod } from "@bufbuild/protobuf";
import type { CallStatus } from "./reply.js";

/** Something that a call brought, as the recorder of its connection saw it. */
export type Seen =
  | {
      /** A message left for the subject. */
      readonly kind: "request";
      readonly method: DescMethod;
      readonly message: object;
    }
  | {
      /** A message came from the subject. */
      readonly kind: "answer";
      readonly method: DescMethod;
      readonly message: object;
    }
  | {
      /** The call has ended. */
      readonly kind: "end";
      readonly method: DescMethod;
      /** undefined: OK. */
      readonly status: CallStatus | undefined;
      /** Headers and trailers together. */
      readonly metadata: Headers;
    };
