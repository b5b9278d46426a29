// `sendDate` is not in Node's typings: gRPC has no use for a date header in every answer.

/** Options of `respond` for an answer with messages and trailers. */
export const WITH_TRAILERS = Object.freeze({ waitForTrailers: true, sendDate: false });

/** Options of `respond` for an answer that is complete with its headers. */
export const HEADERS_ONLY = Object.freeze({ endStream: true, sendDate: false });
