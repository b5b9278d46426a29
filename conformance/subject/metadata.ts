// Names of the contract's metadata, as the head of operation.proto tells them.

/** Header of every answer: the instance that answered (ALL-SCOPE-001). */
export const instanceHeader = "touchstone-instance";
/** Trailer: started, joined or replayed (ALL-REPEAT-019). */
export const deliveryTrailer = "touchstone-delivery";
/** Request metadata, one value for all calls of an episode (ALL-SCOPE-004). */
export const keyHeader = "touchstone-key";
/** Request metadata: bytes that the caller takes in one message (R11). */
export const maxMessageHeader = "touchstone-max-message";
