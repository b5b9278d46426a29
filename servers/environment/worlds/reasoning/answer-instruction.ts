/** Tells an agent how to end its answer; to be put after a task's question. */
export const ANSWER_INSTRUCTION =
  "End with a line that holds #### and then the final answer alone. " +
  "Write a number exactly: as a whole number, a decimal or a fraction in lowest terms.";
