/** Header of every answer, refusals included: the instance that answered (ALL-SCOPE-001). */
export const instanceHeader = "touchstone-instance";
/** Trailer that tells how an answer came about: started, joined or replayed (ALL-REPEAT-019). */
export const deliveryTrailer = "touchstone-delivery";
/** Request metadata: one value for all calls of an episode and its forks (ALL-SCOPE-004). */
export const keyHeader = "touchstone-key";
/** Request metadata: bytes of the largest answer that the caller takes, where it is not the usual one (R11). */
export const maxMessageHeader = "touchstone-max-message";
/** No message is larger unless both sides declare more (R11). */
export const usualMaxMessageBytes = 4 * 1024 * 1024;
