/**
 * The words that change what a number beside them means. They are few and fixed; what they cannot tell apart
 * is not read as an answer.
 */

/** "72 or 73", "either", "72 versus 73": several candidates. */
export const ALTERNATIVE = /\b(?:or|either|versus|vs|alternatively)\b/iu;

/** "not 72", "isn't", "72 is wrong": the number is denied. */
export const DENIAL = /\b(?:not|never|neither|nor|cannot|wrong|incorrect|false|unlikely)\b|n['’]t\b/iu;

/** "at least", "more than" straight before a number: a bound. */
export const BOUND_BEFORE =
  /(?:\b(?:at (?:the )?(?:least|most)|(?:more|less|fewer|greater|smaller|higher|lower) than|over|under|above|below|up to|between|within|almost|nearly|no (?:more|less)|exceeds)|[<>≤≥±])\s*$/iu;

/** "at most" after a number: a bound. */
export const BOUND_AFTER = /\bat (?:the )?(?:least|most)\b/iu;

const SMALL = "(?:zero|one|two|three|four|five|six|seven|eight|nine|ten)";

/** "half of 72", "twice 72": arithmetic in words straight before a number, which is not read. */
export const SPELLED_OUT_BEFORE =
  /\b(?:half|twice|double|triple|thirds?|quarters?|times|plus|minus|negative|percent)(?:\s+of)?(?:\s+the)?\s*$/iu;

/** "72 plus one", "3 and three quarters": arithmetic in words after a number, which is not read. */
export const SPELLED_OUT_AFTER = new RegExp(
  String.raw`\b(?:plus|minus|divided by|multiplied by|(?:times|and|point) ${SMALL}|and (?:a|an|\p{L}+ty))\b|^\s*(?:squared|cubed|half|halves|(?:third|fourth|fifth|sixth|eighth|tenth|hundredth|thousandth)s?)\b`,
  "iu",
);

/** "step 3", "line 72": a number that points somewhere and counts nothing. */
export const POINTER =
  /\b(?:step|line|part|section|question|problem|page|chapter|item|option|version|example|equation|figure|table|no|number|id|room)\.?\s*$/iu;

/** "maybe", "alternatively" in an explanation: it names another candidate. */
export const SECOND_THOUGHT =
  /\b(?:or|either|maybe|perhaps|possibly|alternatively|not|could (?:also )?be)\b/iu;

/** "actually", "wait": the sentence takes back what was said before it. */
export const RETRACTION =
  /\b(?:or (?:maybe|perhaps|possibly|rather)|actually|wait|alternatively|on second thought|correction|scratch that|i mean(?:t)?|(?:could|might|may) (?:also |well )?be|maybe|perhaps|sorry|instead)\b/iu;

/** "if the answer is 72", "one might think the answer is 72": said about an answer, not as one. */
export const HYPOTHETICAL =
  /(?:\b(?:if|whether|suppose|assuming|assume|unless|pretend|(?:might|could|would|may) (?:think|say|guess|believe)|not (?:think|believe|sure)|doubt)\b|n['’]t (?:think|believe)\b)[^.!?]*$/iu;

/** "either 72 or 73", "not 72", "maybe 72": how a hedged answer starts. */
export const HEDGE = /^(?:either|neither|not|maybe|perhaps|possibly|probably|between)\b/iu;

/** Words for the grading itself: a message about them is not an answer to a task. */
export const GRADING = /\b(?:reward|score|grade|grader|rubric|verdict|instructions?)\b/iu;
