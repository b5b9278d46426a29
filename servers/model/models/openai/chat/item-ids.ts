/** Ids of the items of one message: the same while it is streamed as in the answer. */
export interface ItemIds {
  readonly turnId: string;
  readonly reasoning: string;
  readonly content: string;
  readonly refusal: string;
  toolCall(index: number): string;
}

/** The ids of a choice's items. */
export function itemIds(callId: string, choiceIndex: number): ItemIds {
  const turnId = `${callId}-${choiceIndex}`;
  return {
    turnId,
    reasoning: `${turnId}-reasoning`,
    content: `${turnId}-content`,
    refusal: `${turnId}-refusal`,
    toolCall: (index) => `${turnId}-tool-${index}`,
  };
}
